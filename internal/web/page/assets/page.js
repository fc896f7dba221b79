// The page reads itself anew with each cycle and replaces what has changed, by key. Without this script it is a page that can be read and reloaded.
(() => {
  'use strict';
  const $ = (selector, from) => (from || document).querySelector(selector);
  const all = (selector, from) => [...(from || document).querySelectorAll(selector)];
  const root = document.documentElement.dataset.root || './';
  const past = document.documentElement.dataset.past === 'true';
  const say = (text) => { const p = $('#announce'); if (p) p.textContent = text; };

  // Times: in the reader's zone, with UTC on hover; what counts down does so once a second, and stops while the page is not live.
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const clock = new Intl.DateTimeFormat([], { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
  const day = new Intl.DateTimeFormat([], { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  const span = (s) => {
    s = Math.max(0, Math.round(s));
    if (s < 60) return s + ' s';
    if (s < 3600) return Math.floor(s / 60) + ' m' + (s < 600 && s % 60 ? ' ' + s % 60 + ' s' : '');
    if (s < 172800) return Math.floor(s / 3600) + ' h' + (Math.floor(s % 3600 / 60) ? ' ' + Math.floor(s % 3600 / 60) + ' m' : '');
    return Math.floor(s / 86400) + ' d';
  };
  const count = (s) => s >= 3600 ? span(s) : Math.floor(s / 60) + ':' + String(Math.floor(s % 60)).padStart(2, '0');
  let offset = Date.parse(document.documentElement.dataset.sent) - Date.now(), stale = false; // what the server's clock is ahead by
  if (!(Math.abs(offset) > 120000)) offset = 0; // a page is shared for some seconds; the stream tells better
  const now = () => past ? Date.parse(document.documentElement.dataset.time) : Date.now() + offset;
  const set = () => {
    all('time[datetime]').forEach((e) => {
      const at = new Date(e.getAttribute('datetime'));
      if (!e.dataset.utc) { e.dataset.utc = e.textContent; e.title = at.toISOString().slice(0, 19).replace('T', ' ') + ' UTC'; }
      if (e.dataset.show === 'clock') e.textContent = (Math.abs(now() - at) < 72000000 ? clock : day).format(at);
    });
    all('[data-clock]').forEach((e) => { const at = new Date(e.dataset.clock); e.textContent = at.getHours() + at.getMinutes() === 0 ? new Intl.DateTimeFormat([], { weekday: 'short', day: 'numeric' }).format(at) : new Intl.DateTimeFormat([], { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }).format(at); });
    const z = $('#zone'); if (z) z.textContent = 'times in ' + zone + ', UTC on hover';
    tick();
  };
  const tick = () => {
    if (stale) return;
    all('[data-until]').forEach((e) => { const s = (Date.parse(e.dataset.until) - now()) / 1000; e.textContent = s > 0 ? (e.dataset.word || '') + count(s) : 'now'; });
    all('[data-since]').forEach((e) => { e.textContent = (e.dataset.word || '') + span((now() - Date.parse(e.dataset.since)) / 1000) + (e.dataset.after || ''); });
  };

  // Live.
  let reading = false, again = false, last = 0, announced = 0;
  const keep = (fresh) => {
    const busy = document.activeElement, names = (of) => all('#main [data-key]', of).map((e) => e.dataset.key).sort().join();
    const sentence = $('h1') && $('h1').textContent;
    const typing = busy && busy.tagName === 'INPUT';
    const parts = (of) => typing || names(document) === names(fresh) ? all('[data-key]', of) : [$('#main', of), ...all('[data-key]', of).filter((e) => !e.closest('#main'))]; // one came or went
    const name = (e) => e.dataset.key || e.id;
    const lists = parts(document), byKey = new Map(parts(fresh).map((e) => [name(e), e]));
    lists.forEach((e) => {
      const other = byKey.get(name(e));
      if (!other || e.outerHTML === other.outerHTML || e.dataset.raw === other.outerHTML) return;
      const raw = other.outerHTML, inside = busy && e.contains(busy), selected = String(getSelection()) && e.contains(getSelection().anchorNode);
      if (selected) return; // somebody copies
      const where = inside && (busy.id || busy.getAttribute('href') || busy.dataset.copy);
      const put = document.importNode(other, true);
      e.replaceWith(put);
      put.dataset.raw = raw;
      if (where) { const found = all('a, button, input', put).find((x) => (x.id || x.getAttribute('href') || x.dataset.copy) === where); if (found) found.focus({ preventScroll: true }); }
    });
    document.title = fresh.title;
    ['sent', 'time', 'cycle'].forEach((name) => { document.documentElement.dataset[name] = fresh.documentElement.dataset[name]; });
    const said = $('h1') && $('h1').textContent;
    if (said !== sentence && Date.now() - announced > 60000) { announced = Date.now(); say(said); }
    set(); mark();
  };
  const refresh = async () => {
    if (reading) { again = true; return; }
    reading = true;
    try {
      const answer = await fetch(location.href, { headers: { Accept: 'text/html' } });
      if (!answer.ok && answer.status !== 404) throw new Error(answer.status); // what is not found is an answer of a live server
      keep(new DOMParser().parseFromString(await answer.text(), 'text/html'));
      const page = document.documentElement.dataset;
      last = Date.now(); alive(Date.now() + offset - Date.parse(page.time) <= Number(page.stale));
    } catch (e) { alive(false); }
    reading = false;
    if (again) { again = false; refresh(); }
  };
  const alive = (ok) => {
    stale = !ok;
    const live = $('#live');
    if (live) live.classList.toggle('stale', stale);
    const word = $('#live .word');
    if (word) word.textContent = stale ? 'not live, tries again' : 'live';
  };
  const follow = () => {
    if (past || !window.EventSource || !$('#live')) return;
    const source = new EventSource(root + 'events');
    source.addEventListener('cycle', (e) => {
      const told = JSON.parse(e.data);
      offset = Date.parse(told.now) - Date.now();
      const page = document.documentElement.dataset, old = Date.parse(told.now) - Date.parse(page.time) > Number(page.stale);
      if (String(told.cycle) !== page.cycle || old) refresh(); else { alive(true); set(); }
    });
    source.onerror = () => alive(false);
  };

  // Keyboard.
  let row = -1, single = localStorage.getItem('sluice.keys') !== 'off';
  const rows = () => all('main [data-row]').filter((e) => e.offsetParent !== null);
  const mark = () => all('main li[aria-current]').forEach((e) => e.removeAttribute('aria-current'));
  const move = (by) => {
    const list = rows(); if (!list.length) return;
    const at = list.findIndex((e) => e === document.activeElement || e.contains(document.activeElement));
    row = at >= 0 ? at : row;
    row = Math.min(list.length - 1, Math.max(0, row + by));
    mark(); const li = list[row].closest('li'); if (li) li.setAttribute('aria-current', 'true');
    list[row].focus(); list[row].scrollIntoView({ block: 'nearest' });
  };
  const tiles = (e, key) => {
    const tile = e.closest('.tiles a, .tiles button'); if (!tile) return false;
    const list = all('.fleet .tiles a'), i = list.indexOf(tile), here = tile.getBoundingClientRect();
    let to;
    if (key === 'ArrowRight') to = list[i + 1];
    else if (key === 'ArrowLeft') to = list[i - 1];
    else {
      const down = key === 'ArrowDown';
      const near = list.map((x) => [x, x.getBoundingClientRect()]).filter(([, r]) => down ? r.top > here.top + 4 : r.top < here.top - 4)
        .sort((a, b) => Math.abs(a[1].top - here.top) - Math.abs(b[1].top - here.top) || Math.abs(a[1].left - here.left) - Math.abs(b[1].left - here.left));
      to = near.length && near[0][0];
    }
    if (to) { list.forEach((x) => { x.tabIndex = -1; }); to.tabIndex = 0; to.focus(); }
    return true;
  };
  const copy = async (text, what) => {
    try { await navigator.clipboard.writeText(text); } catch (e) {
      const area = document.createElement('textarea'); area.value = text; document.body.append(area); area.select(); document.execCommand('copy'); area.remove();
    }
    say(what + ' copied');
  };
  const go = (selector) => { const a = $(selector); if (a) location.href = a.href; return !!a; };
  const keys = {
    1: () => go('#view-now'), 2: () => go('#view-time'), 3: () => go('#view-why'), 4: () => go('#view-azure'),
    '/': () => { const f = $('#find'); if (f) { f.focus(); f.select(); } }, j: () => move(1), k: () => move(-1),
    u: () => go('[data-up]'), t: () => go('a[data-time]') || go('#view-time'), n: () => go('[data-now]'),
    '[': () => go('[data-before]'), ']': () => go('[data-after]'), '{': () => go('[data-change-before]'), '}': () => go('[data-change-after]'),
    '+': () => go('[data-wider]'), '-': () => go('[data-closer]'),
    c: () => { const near = document.activeElement && document.activeElement.closest('li'); const b = (near && $('[data-copy]', near)) || $('main [data-copy]'); if (b) copy(b.dataset.copy, 'command'); },
    y: () => copy(location.href, 'link'), '?': () => { const d = $('#keys'); if (d) d.showModal(); },
  };
  document.addEventListener('keydown', (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName);
    if (e.key === 'Escape') { if (typing) e.target.blur(); else if (!$('dialog[open]')) history.back(); return; }
    if (typing || $('dialog[open]')) return;
    if (e.key.startsWith('Arrow') && tiles(e.target, e.key)) { e.preventDefault(); return; }
    if (single && keys[e.key]) { e.preventDefault(); keys[e.key](); }
  });
  document.addEventListener('click', (e) => {
    const b = e.target.closest('[data-copy]'); if (b) { copy(b.dataset.copy, 'command'); b.textContent = 'copied'; setTimeout(() => { b.textContent = 'copy'; }, 1500); }
    if (e.target.closest('[data-close]')) e.target.closest('dialog').close();
    if (e.target.closest('[data-keys]')) $('#keys').showModal();
  });
  const toggle = $('#single');
  if (toggle) { toggle.checked = single; toggle.addEventListener('change', () => { single = toggle.checked; localStorage.setItem('sluice.keys', single ? 'on' : 'off'); }); }
  set();
  setInterval(tick, 1000);
  follow();
})();

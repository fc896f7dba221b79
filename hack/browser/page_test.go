package browser

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
)

// views are the addresses of all views of a site: those of one node, one group and one pod that waits among them.
func (s *site) views() []string {
	all := []string{"", "time", "why", "azure", "find?q=web", "why/node/nobody-of-that-name"}
	last := s.entries[len(s.entries)-1]
	for _, kind := range []reason.Kind{reason.KindNode, reason.KindGroup, reason.KindPod} {
		for _, v := range last.Plan.Verdicts {
			if v.Subject.Kind == kind && (kind != reason.KindPod || v.Outcome == action.PodStuck) {
				all = append(all, "why/"+string(kind)+"/"+v.Subject.Name)
				break
			}
		}
	}
	return all
}

func TestACycleShowsWithoutAReloadAndMovesNobody(t *testing.T) {
	entries := play(t, busy)
	half := len(entries) - 3
	s := serve(t, "", entries[:half]...)
	b := s.open(t)
	b.see("")
	b.until(fmt.Sprintf("document.querySelector('#live').textContent.includes('cycle %d')", entries[half-1].Cycle))
	b.do(chromedp.Evaluate[chromedp.Void](`window.unmoved = true; document.querySelector('[data-key=groups] a[data-row]').focus();
		const p = document.querySelector('[data-key=stays]'); getSelection().selectAllChildren(p); window.copied = String(getSelection()); scrollTo(0, 120); undefined`))
	focused := b.text("document.activeElement.textContent")
	for _, e := range entries[half:] {
		s.report(e)
	}
	b.until(fmt.Sprintf("document.querySelector('#live').textContent.includes('cycle %d')", entries[len(entries)-1].Cycle))
	if b.text("window.unmoved") != "true" {
		t.Error("the page was loaded anew")
	}
	if got := b.text("document.activeElement.textContent"); got != focused {
		t.Errorf("the focus moved from %q to %q", focused, got)
	}
	if b.text("String(getSelection()) === window.copied && window.copied !== ''") != "true" {
		t.Error("what was selected is not any more")
	}
	if y := b.text("scrollY"); y != "120" {
		t.Errorf("the page was scrolled from 120 to %s", y)
	}
	b.clean()
}

// TestWhatIsNotFoundIsLiveAllTheSame asks why of a thing that is not there while cycles go on, and that comes with one of them.
func TestWhatIsNotFoundIsLiveAllTheSame(t *testing.T) {
	entries := play(t, busy)
	first := slices.IndexFunc(entries, func(e journal.Entry) bool {
		return slices.ContainsFunc(e.Seen.Pending, func(p *cluster.Pod) bool { return p.String() == "default/sim-fluid" })
	})
	s := serve(t, "", entries[:first-1]...)
	b := s.open(t)
	b.see("why/pod/default/sim-fluid")
	for _, e := range entries[first-1 : first] {
		s.report(e)
	}
	b.until(fmt.Sprintf("document.querySelector('#live').textContent.includes('cycle %d')", entries[first-1].Cycle))
	if b.text("document.querySelector('#live').className + ' ' + document.querySelector('#live .word').textContent") != "live live" {
		t.Error("a page of an unknown thing is said not to be live")
	}
	s.report(entries[first])
	b.until("document.querySelector('[data-key=why]')") // parts that come are shown
}

// TestTheFleetIsChosenByItsAddress goes by links and the filter's form, with the script and without.
func TestTheFleetIsChosenByItsAddress(t *testing.T) {
	s := serve(t, "", large(t))
	b := s.open(t)
	for _, script := range []bool{true, false} {
		if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !script}); err != nil {
			t.Fatal(err)
		}
		b.do(chromedp.Navigate(s.address("?state=idle")), chromedp.WaitReady(chromedp.CSS("#by-list")), chromedp.Click(chromedp.CSS("#by-list")), chromedp.WaitReady(chromedp.CSS("table.list")))
		b.do(chromedp.SendKeys(chromedp.CSS("#filter"), "POOL07 zone 2"), chromedp.Click(chromedp.CSS("form.filter button")), chromedp.WaitReady(chromedp.CSS("form.filter input[value='POOL07 zone 2']")))
		address, err := chromedp.Run(b.ctx, chromedp.Location())
		if err != nil || !strings.Contains(address, "by=list") || !strings.Contains(address, "state=idle") || !strings.Contains(address, "q=POOL07+zone+2") {
			t.Errorf("script %t: the filter leads to %s (%v)", script, address, err)
		}
		words, err := chromedp.Run(b.ctx, chromedp.Text(chromedp.CSS("[data-key=fleet]")))
		if err != nil || !strings.Contains(words, "pool07-") || strings.Contains(words, "pool08-") {
			t.Errorf("script %t: the list says %.200q (%v)", script, words, err)
		}
	}
	b.clean()
}

func TestThePastIsOneStateOfEveryView(t *testing.T) {
	s := serve(t, "", play(t, busy)...)
	b := s.open(t)
	b.see("time?range=1h")
	b.do(chromedp.Evaluate[chromedp.Void]("const all = document.querySelectorAll('svg a rect.press'); all[all.length >> 1].dispatchEvent(new MouseEvent('click', {bubbles: true})); undefined"))
	b.until("document.querySelector('.banner') && location.search.includes('at=') && document.readyState === 'complete'")
	first := b.text("document.querySelector('.banner b').textContent")
	for _, view := range []string{"1now", "3why", "4azure", "2time"} {
		b.press(view[:1])
		b.until(fmt.Sprintf("document.querySelector('#view-%s[aria-current]') && document.readyState === 'complete'", view[1:]))
		if got := b.text("document.querySelector('.banner b') && document.querySelector('.banner b').textContent"); got != first {
			t.Errorf("view %s has the banner %q, not %q", view, got, first)
		}
	}
	b.press("[")
	b.until("document.querySelector('.banner b') && document.querySelector('.banner b').textContent !== " + fmt.Sprintf("%q && document.readyState === 'complete'", first))
	b.press("]")
	b.until("document.querySelector('.banner b') && document.querySelector('.banner b').textContent === " + fmt.Sprintf("%q && document.readyState === 'complete'", first))
	b.press("n")
	b.until("!document.querySelector('.banner') && document.readyState === 'complete'")
	b.do(chromedp.NavigateBack())
	b.until("document.querySelector('.banner')")
	b.clean()
}

func TestTheKeyboardAloneReachesEverything(t *testing.T) {
	s := serve(t, "", play(t, busy)...)
	b := s.open(t)
	b.see("")
	for i, view := range []string{"now", "time", "why", "azure"} {
		b.press(fmt.Sprint(i + 1))
		b.until(fmt.Sprintf("document.querySelector('#view-%s[aria-current]') && document.readyState === 'complete'", view))
	}
	b.press("1")
	b.until("document.querySelector('#view-now[aria-current]') && document.readyState === 'complete'")
	b.press("jj")
	second := b.text("document.activeElement.href")
	b.press("jk")
	if got := b.text("document.activeElement.href"); got != second {
		t.Errorf("j and k lead from %s to %s", second, got)
	}
	b.press(kb.Enter)
	b.until("location.pathname.startsWith('/why/') && document.readyState === 'complete'")
	b.press("c")
	b.until("document.querySelector('#announce').textContent === 'command copied'")
	b.press("y")
	b.until("document.querySelector('#announce').textContent === 'link copied'")
	b.press(kb.Escape)
	b.until("location.pathname === '/' && document.readyState === 'complete'")
	b.press("/")
	b.until("document.activeElement.id === 'find'")
	b.do(chromedp.Evaluate[chromedp.Void]("document.activeElement.value = ''; undefined")) // a key that is driven is typed though the page takes it
	b.press("render" + kb.Enter)
	b.until("location.pathname === '/find' && document.querySelector('main [data-row]') && document.readyState === 'complete'")
	b.press("1")
	b.until("location.pathname === '/' && document.readyState === 'complete'")
	b.do(chromedp.Evaluate[chromedp.Void]("document.querySelector('.tiles a').focus()"))
	one := b.text("document.activeElement.href")
	b.press(kb.ArrowRight + kb.ArrowDown)
	if got := b.text("document.activeElement.href"); got == one || b.text("!!document.activeElement.closest('.tiles')") != "true" {
		t.Errorf("the arrows lead from %s to %s", one, got)
	}
	b.press(kb.Enter)
	b.until("location.pathname.startsWith('/why/') && document.readyState === 'complete'")
	if b.text("!!document.querySelector('[data-up]')") == "true" {
		b.press("u")
		b.until("location.pathname.startsWith('/why/group/') && document.readyState === 'complete'")
	}
	b.press("t")
	b.until("location.pathname === '/time' && document.readyState === 'complete'")
	b.press("?")
	b.until("document.querySelector('dialog[open]')")
	b.press(kb.Escape)
	b.until("!document.querySelector('dialog[open]') && location.pathname === '/time'")
	b.clean()
}

func TestEveryViewIsAccessibleAndFitsTheScreen(t *testing.T) {
	many := serve(t, "", large(t)).open(t)
	for _, view := range []string{"", "?by=zone", "?by=list", "?by=list&sort=-cpu&q=pool07&from=200", "?q=nothing-is-called-so"} {
		for _, width := range []int64{2560, 360} {
			many.do(chromedp.EmulateViewport(width, 900))
			many.see(view)
			where := fmt.Sprintf("5,000 nodes, /%s, %d px", view, width)
			if width == 360 {
				many.axe(where)
			}
			if wide := many.text("document.documentElement.scrollWidth"); wide != fmt.Sprint(width) {
				t.Errorf("%s: the document is %s px wide", where, wide)
			}
		}
	}
	many.clean()
	s := serve(t, "", play(t, busy)...)
	b := s.open(t)
	for _, width := range []int64{2560, 1440, 360} {
		b.do(chromedp.EmulateViewport(width, 900))
		for _, scheme := range []string{"light", "dark"} {
			if width == 2560 && scheme == "dark" {
				continue
			}
			b.scheme(scheme)
			for _, view := range s.views() {
				b.see(view)
				where := fmt.Sprintf("/%s, %s, %d px", view, scheme, width)
				if width < 2560 { // it has the parts of 1440
					b.axe(where)
				}
				if wide := b.text("document.documentElement.scrollWidth"); wide != fmt.Sprint(width) {
					t.Errorf("%s: the document is %s px wide", where, wide)
				}
			}
		}
	}
}

func TestTextOfOthersStaysText(t *testing.T) {
	const image, script, order, escape = `<img src=x onerror=alert(1)>`, `"><script>alert(2)</script>`, "a\u202egnp.exe", "\x1b[2J\x1b[31mred"
	long := strings.Repeat("all work and no play ", 5000)
	message := func(text string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Status.Conditions[0].Message = text }
	}
	pods := []any{Node("a-0"), Node("b-0", NotReady(Start.Add(-time.Hour)))}
	for i, text := range []string{image, script, order, escape, "'onmouseover=alert(3)", long[:253]} {
		p := Pod(text, message(text+long), Annotated("note", text+long), CPU(fmt.Sprintf("%d", 10+i)), func(p *corev1.Pod) {
			p.Namespace = "default" + text
			p.Spec.NodeSelector = map[string]string{text: text}
		})
		pods = append(pods, p)
	}
	good, bad := Group("a", 0, 5, Machine("0", "a-0")), Group("b", 0, 3, Machine("0", "b-0"), Machine(script, ""))
	bad.Problem = image + script + order + escape + long
	bad.Failure = &cluster.Failure{Code: script, Message: image + long, At: Start.Add(-time.Minute)}
	s := serve(t, "", decided(t, 1, cluster.New(Start, Objects(pods...), []*cluster.Group{good, bad})))
	b := s.open(t)
	for _, view := range append(s.views()[:4], "time?range="+"%22%3E%3Cscript%3E", "?by=%3Cimg+src=x+onerror=alert(1)%3E&state=%22%3E") {
		b.see(view)
		if n := b.text("document.querySelectorAll('main img, main script, [onerror], [onmouseover]').length"); n != "0" {
			t.Errorf("/%s: %s elements of others", view, n)
		}
	}
	b.see("")
	followed := 0
	for _, href := range strings.Split(b.text("[...document.querySelectorAll('main [data-row]')].map(a => a.href).join('\\n')"), "\n") {
		b.do(chromedp.Navigate(href))
		b.until("document.readyState === 'complete'")
		if got := b.text("document.querySelector('h1').textContent.length < 2000 && document.body.textContent.length < 200000"); got != "true" {
			t.Errorf("%s is flooded", href)
		}
		followed++
	}
	if followed < 5 {
		t.Errorf("only %d links led anywhere", followed)
	}
	b.mu.Lock()
	for i, f := range b.faults { // what is gone is not found, which a browser says, too
		if strings.Contains(f, "404") {
			t.Errorf("a link of the page leads nowhere: %s", f)
			b.faults[i] = "404"
		}
	}
	b.mu.Unlock()
	b.clean()
}

func TestNoPageHasFaultsAndTheFirstIsLight(t *testing.T) {
	for name, entries := range map[string]func() *site{
		"busy":  func() *site { return serve(t, "", play(t, busy)...) },
		"stuck": func() *site { return serve(t, "", scenario(t, "stuck-reasons", 0)...) },
		"lost":  func() *site { return serve(t, "", scenario(t, "nodes-lost-together", 40*time.Minute)...) },
		"quiet": func() *site { return serve(t, "", scenario(t, "founding-story", 0)...) },
		"late":  func() *site { return serve(t, "", scenario(t, "creating-for-ever", 9*time.Minute)...) },
	} {
		t.Run(name, func(t *testing.T) {
			s := entries()
			b := s.open(t)
			b.see("")
			if b.bytes > 60_000 {
				t.Errorf("the first page loads %.0f bytes (limit 60000)", b.bytes)
			}
			paint := b.text("Math.round(performance.getEntriesByName('first-contentful-paint').map(e => e.startTime)[0])")
			began := time.Now()
			b.press("j")
			b.until("document.activeElement.matches('[data-row]')")
			t.Logf("%.0f bytes, first paint after %s ms, a key is answered within %s", b.bytes, paint, time.Since(began).Round(time.Millisecond))
			for _, view := range s.views() {
				if !strings.Contains(view, "nobody") {
					b.see(view)
				}
			}
			b.clean()
		})
	}
}

func TestThePageWorksBehindTheProxyOfTheAPIServer(t *testing.T) {
	entries := play(t, busy)
	s := serve(t, proxied, entries[:len(entries)-1]...)
	b := s.open(t)
	for _, view := range s.views() {
		if strings.Contains(view, "nobody") {
			continue
		}
		b.see(view)
		if got := b.text("getComputedStyle(document.querySelector('header.bar')).display + ' ' + document.querySelector('#zone').textContent.includes('hover')"); got != "flex true" {
			t.Errorf("/%s: style and script: %s", view, got)
		}
		away := b.text("[...document.querySelectorAll('a[href], form[action]')].map(a => new URL(a.getAttribute('href') || a.getAttribute('action'), document.baseURI).href).filter(h => !h.startsWith('" + s.address("") + "')).join(' ')")
		if away != "" {
			t.Errorf("/%s has links to elsewhere: %s", view, away)
		}
	}
	b.see("why")
	s.report(entries[len(entries)-1])
	b.until(fmt.Sprintf("document.querySelector('#live').textContent.includes('cycle %d')", entries[len(entries)-1].Cycle))
	b.clean()
}

func TestThePageCanBeReadWithoutItsScript(t *testing.T) {
	s := serve(t, "", play(t, busy)...)
	b := s.open(t)
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	for _, view := range s.views() {
		if strings.Contains(view, "nobody") {
			continue
		}
		r, err := chromedp.Run(b.ctx, chromedp.NavigateResponse(s.address(view)))
		if err != nil || r.Status != http.StatusOK {
			t.Fatalf("/%s: %v %v", view, r, err)
		}
		if words, err := chromedp.Run(b.ctx, chromedp.Text(chromedp.CSS("main"))); err != nil || len(words) < 40 {
			t.Errorf("/%s says %q (%v)", view, words, err)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range b.asked {
		if strings.HasSuffix(a, "/events") {
			t.Error("the script ran")
		}
	}
}

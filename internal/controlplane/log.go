package controlplane

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	_ "unsafe" // for go:linkname

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"google.golang.org/grpc/grpclog"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// What becomes of the components' logs.
//
// kube-apiserver, the scheduler and the controllers log through klog, which is global to the process, and so do the
// client-go parts of everybody else in it. The first Start points klog, once and for good, at a sink which writes to the
// log of the control plane that is running and drops what comes while none is. A program that bridges klog elsewhere
// after Start (klog.SetSlogLogger) takes kube-apiserver's lines with it: the last one to set klog's logger wins. The
// scheduler and the controllers carry a logger of their own in their context and are not affected.
//
// klog.Fatal ends the process, and kube-apiserver calls it when a start hook is cut short by Stop. While a control plane
// stops, that ends the calling goroutine instead.
var (
	redirect sync.Once
	active   = &sink{}
	exiting  atomic.Bool // a control plane is stopping
)

// sink serializes writes to the log that is current, if any.
type sink struct {
	mu  sync.Mutex
	out io.Writer
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out == nil {
		return len(p), nil
	}
	return s.out.Write(p)
}

func (s *sink) set(out io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out = out
}

// log is where one control plane's lines go.
type log struct {
	name string // for error messages: the path, or what stands for it
	path string // empty when the caller gave a writer
	file *os.File
}

// openLog makes out, or else a file in dir, the target of all logs of this process's Kubernetes components.
func openLog(dir string, out io.Writer) (*log, error) {
	l := &log{name: "the writer in Options.Log"}
	if out == nil {
		l.path = filepath.Join(dir, "controlplane.log")
		file, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, err
		}
		l.name, l.file, out = l.path, file, file
	}
	active.set(out)
	redirect.Do(func() {
		klog.SetLoggerWithOptions(logger("kube-apiserver"), klog.ContextualLogger(true))
		klog.OsExit = func(code int) {
			if exiting.Load() {
				runtime.Goexit()
			}
			os.Exit(code)
		}
		etcdClientLog = etcdLog("etcd-client")
		grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, active, active))
	})
	return l, nil
}

// logger writes klog's text format, each line under the name of its component.
func logger(component string) klog.Logger {
	return textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(active))).WithName(component)
}

// etcdClientLog is kube-apiserver's logger for its etcd clients. It writes warnings to standard error, one for each
// request that a client gives up while it is being stored, and there is no other way to it.
//
//go:linkname etcdClientLog k8s.io/apiserver/pkg/storage/storagebackend/factory.etcd3ClientLogger
var etcdClientLog *zap.Logger

// etcdLog is a logger for etcd's code: warnings and worse.
func etcdLog(name string) *zap.Logger {
	encoder := zapcore.NewConsoleEncoder(zap.NewProductionEncoderConfig())
	return zap.New(zapcore.NewCore(encoder, zapcore.AddSync(active), zap.WarnLevel)).Named(name)
}

func (l *log) printf(format string, args ...any) {
	fmt.Fprintf(active, format+"\n", args...)
}

// close detaches the log: what straggling goroutines say later is dropped.
func (l *log) close() error {
	active.set(nil)
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

// Command pause is the image of the story: the process that holds a pod's namespaces; with serve ADDRESS the smallest of web servers, which says the name
// of its pod; with sleep DURATION work that ends.
package main

import (
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) == 3 {
		if err := work(os.Args[1], os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGINT, syscall.SIGTERM)
	<-ended
}

func work(verb, how string) error {
	switch verb {
	case "serve":
		name, _ := os.Hostname()
		return http.ListenAndServe(how, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, name) }))
	case "sleep":
		long, err := time.ParseDuration(how)
		time.Sleep(long)
		return err
	}
	return fmt.Errorf("%s: give serve or sleep", verb)
}

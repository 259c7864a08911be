// SPDX-License-Identifier: Apache-2.0

#ifndef WEB_WINDOW_H
#define WEB_WINDOW_H

/// Windows with a WebKitGTK view, for the bridge and for a gate's page. All functions but `pww_run_on_main` belong to
/// the thread of GTK's main loop.

struct pww_window;

/// Answers a message of the bridge's script with a new text (malloc), or NULL for none.
typedef char *(*pww_answer)(void *context, struct pww_window *window, const char *message);

/// Takes a message that the page itself posted to the handler `proofkit`.
typedef void (*pww_message)(void *context, struct pww_window *window, const char *message);

/// Takes a title of the page; NULL when the window was closed.
typedef void (*pww_change)(void *context, struct pww_window *window, const char *title);

/// Begins GTK. Returns 0 if there is no display.
int pww_init(void);

/// Makes a window with a view that keeps nothing on disk. A width of 0 shows no window.
struct pww_window *pww_window_new(const char *title, int width, int height);
/// Closes and frees a window. Its callbacks are not called any more.
void pww_window_free(struct pww_window *window);

/// Calls `change` for each title and when the window is closed.
void pww_window_watch(struct pww_window *window, pww_change change, void *context);

/// Runs a script in the top frame of each page, in a world of its own, and answers its messages to the handler `name`.
void pww_window_bridge(struct pww_window *window, const char *script, const char *name, pww_answer answer,
                       void *context);

/// Takes what a page posts to `window.webkit.messageHandlers.proofkit`.
void pww_window_listen(struct pww_window *window, pww_message message, void *context);

/// Trusts a certificate (PEM) of a host, for tests. Returns 0 if the file cannot be read.
int pww_window_trust(struct pww_window *window, const char *certificate, const char *host);

void pww_window_load(struct pww_window *window, const char *url);

/// The address of the document that is shown, not of one that is still loading. NULL while there is none. The caller
/// frees it.
char *pww_window_url(const struct pww_window *window);

/// Runs the main loop until `pww_quit`.
void pww_run(void);
void pww_quit(void);

/// Calls a function on the main loop's thread. May be called on any thread.
void pww_run_on_main(void (*body)(void *context), void *context);

#endif

// SPDX-License-Identifier: Apache-2.0

#include "web_window.h"

#include <stdlib.h>
#include <webkit2/webkit2.h>

/// No page can name a script world.
static const char WORLD[] = "proofkit-bridge";

struct pww_window {
  GtkWidget *window;
  WebKitWebView *view;
  WebKitUserContentManager *manager;
  char *url;
  pww_answer answer;
  void *answer_context;
  pww_message message;
  void *message_context;
  pww_change change;
  void *change_context;
};

int pww_init(void) { return gtk_init_check(NULL, NULL); }

void pww_run(void) { gtk_main(); }

void pww_quit(void) { gtk_main_quit(); }

struct call {
  void (*body)(void *context);
  void *context;
};

static gboolean run_call(gpointer data) {
  struct call *call = data;
  call->body(call->context);
  g_free(call);
  return G_SOURCE_REMOVE;
}

void pww_run_on_main(void (*body)(void *context), void *context) {
  struct call *call = g_new(struct call, 1);
  call->body = body;
  call->context = context;
  g_idle_add(run_call, call);
}

/// The address changes with a load only when its document replaces the one before. Until then the old document's
/// scripts run, while webkit_web_view_get_uri names the new one already.
static void load_changed(WebKitWebView *view, WebKitLoadEvent event, gpointer data) {
  struct pww_window *window = data;
  if (event != WEBKIT_LOAD_COMMITTED) return;
  g_free(window->url);
  window->url = g_strdup(webkit_web_view_get_uri(view));
}

static void process_ended(WebKitWebView *view, WebKitWebProcessTerminationReason reason, gpointer data) {
  struct pww_window *window = data;
  (void)view;
  (void)reason;
  g_clear_pointer(&window->url, g_free);
}

static void title_changed(GObject *view, GParamSpec *spec, gpointer data) {
  struct pww_window *window = data;
  const char *title = webkit_web_view_get_title(WEBKIT_WEB_VIEW(view));
  (void)spec;
  if (window->change != NULL && title != NULL) window->change(window->change_context, window, title);
}

static gboolean window_closed(GtkWidget *widget, GdkEvent *event, gpointer data) {
  struct pww_window *window = data;
  (void)widget;
  (void)event;
  if (window->change != NULL) window->change(window->change_context, window, NULL);
  return TRUE;
}

struct pww_window *pww_window_new(const char *title, int width, int height) {
  struct pww_window *window = g_new0(struct pww_window, 1);
  WebKitWebContext *context = webkit_web_context_new_ephemeral();
  window->manager = webkit_user_content_manager_new();
  window->view = WEBKIT_WEB_VIEW(g_object_new(WEBKIT_TYPE_WEB_VIEW, "web-context", context, "user-content-manager",
                                              window->manager, NULL));
  g_object_unref(context);
  window->window = gtk_window_new(GTK_WINDOW_TOPLEVEL);
  gtk_window_set_title(GTK_WINDOW(window->window), title);
  gtk_container_add(GTK_CONTAINER(window->window), GTK_WIDGET(window->view));
  g_signal_connect(window->view, "load-changed", G_CALLBACK(load_changed), window);
  g_signal_connect(window->view, "web-process-terminated", G_CALLBACK(process_ended), window);
  g_signal_connect(window->view, "notify::title", G_CALLBACK(title_changed), window);
  g_signal_connect(window->window, "delete-event", G_CALLBACK(window_closed), window);
  if (width > 0) {
    gtk_window_set_default_size(GTK_WINDOW(window->window), width, height);
    gtk_widget_show_all(window->window);
  }
  return window;
}

void pww_window_free(struct pww_window *window) {
  g_signal_handlers_disconnect_by_data(window->view, window);
  g_signal_handlers_disconnect_by_data(window->manager, window);
  g_signal_handlers_disconnect_by_data(window->window, window);
  gtk_widget_destroy(window->window);
  g_object_unref(window->manager);
  g_free(window->url);
  g_free(window);
}

void pww_window_watch(struct pww_window *window, pww_change change, void *context) {
  window->change = change;
  window->change_context = context;
}

// Messages --------------------------------------------------------------------------------------------------------

static gboolean bridge_message(WebKitUserContentManager *manager, JSCValue *value, WebKitScriptMessageReply *reply,
                               gpointer data) {
  struct pww_window *window = data;
  char *message, *text;
  JSCValue *answer;
  (void)manager;
  if (!jsc_value_is_string(value)) {
    webkit_script_message_reply_return_error_message(reply, "message");
    return TRUE;
  }
  message = jsc_value_to_string(value);
  text = window->answer(window->answer_context, window, message);
  g_free(message);
  if (text == NULL) {
    webkit_script_message_reply_return_error_message(reply, "message");
    return TRUE;
  }
  answer = jsc_value_new_string(jsc_value_get_context(value), text);
  webkit_script_message_reply_return_value(reply, answer);
  g_object_unref(answer);
  free(text);
  return TRUE;
}

void pww_window_bridge(struct pww_window *window, const char *script, const char *name, pww_answer answer,
                       void *context) {
  char *signal = g_strconcat("script-message-with-reply-received::", name, NULL);
  WebKitUserScript *user_script = webkit_user_script_new_for_world(
    script, WEBKIT_USER_CONTENT_INJECT_TOP_FRAME, WEBKIT_USER_SCRIPT_INJECT_AT_DOCUMENT_START, WORLD, NULL, NULL);
  window->answer = answer;
  window->answer_context = context;
  g_signal_connect(window->manager, signal, G_CALLBACK(bridge_message), window);
  webkit_user_content_manager_register_script_message_handler_with_reply(window->manager, name, WORLD);
  webkit_user_content_manager_add_script(window->manager, user_script);
  webkit_user_script_unref(user_script);
  g_free(signal);
}

static void page_message(WebKitUserContentManager *manager, WebKitJavascriptResult *result, gpointer data) {
  struct pww_window *window = data;
  JSCValue *value = webkit_javascript_result_get_js_value(result);
  char *message;
  (void)manager;
  if (!jsc_value_is_string(value)) return;
  message = jsc_value_to_string(value);
  window->message(window->message_context, window, message);
  g_free(message);
}

void pww_window_listen(struct pww_window *window, pww_message message, void *context) {
  window->message = message;
  window->message_context = context;
  g_signal_connect(window->manager, "script-message-received::proofkit", G_CALLBACK(page_message), window);
  webkit_user_content_manager_register_script_message_handler(window->manager, "proofkit");
}

// Loading ---------------------------------------------------------------------------------------------------------

int pww_window_trust(struct pww_window *window, const char *certificate, const char *host) {
  GTlsCertificate *read = g_tls_certificate_new_from_file(certificate, NULL);
  if (read == NULL) return 0;
  webkit_web_context_allow_tls_certificate_for_host(webkit_web_view_get_context(window->view), read, host);
  g_object_unref(read);
  return 1;
}

void pww_window_load(struct pww_window *window, const char *url) { webkit_web_view_load_uri(window->view, url); }

char *pww_window_url(const struct pww_window *window) { return g_strdup(window->url); }

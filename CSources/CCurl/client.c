// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE

#include <curl/curl.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "CCurl.h"

struct phc_client {
  CURLM *multi;
  CURL *easy;
  char *authorities;
  int allows_plain;
  long connect_timeout_ms;
  atomic_int cancelled;
  long connections;
  uint8_t *body;
  size_t size, capacity, limit;
  char *head;
  size_t head_size;
  int over;  ///< The answer is longer than its limit.
  char words[CURL_ERROR_SIZE];
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void begin(void) { (void)curl_global_init(CURL_GLOBAL_DEFAULT); }

struct phc_client *phc_client_create(const struct phc_options *options) {
  struct phc_client *client = calloc(1, sizeof *client);
  (void)pthread_once(&once, begin);
  if (client == NULL) return NULL;
  client->allows_plain = options->allows_plain;
  client->connect_timeout_ms = options->connect_timeout_ms;
  client->authorities = options->authorities != NULL ? strdup(options->authorities) : NULL;
  client->multi = curl_multi_init();
  client->easy = curl_easy_init();
  if (client->multi == NULL || client->easy == NULL || (options->authorities != NULL && client->authorities == NULL)) {
    phc_client_free(client);
    return NULL;
  }
  return client;
}

void phc_client_free(struct phc_client *client) {
  if (client == NULL) return;
  if (client->easy != NULL) curl_easy_cleanup(client->easy);
  if (client->multi != NULL) (void)curl_multi_cleanup(client->multi);
  free(client->authorities);
  free(client->body);
  free(client->head);
  free(client);
}

void phc_client_cancel(struct phc_client *client) {
  atomic_store(&client->cancelled, 1);
  (void)curl_multi_wakeup(client->multi);
}

void phc_client_rearm(struct phc_client *client) { atomic_store(&client->cancelled, 0); }

long phc_client_connections(const struct phc_client *client) { return client->connections; }

static size_t take(char *bytes, size_t size, size_t count, void *user) {
  struct phc_client *client = user;
  size_t more = size * count;
  if (more > client->limit - client->size) {
    client->over = 1;
    return 0;
  }
  if (more > client->capacity - client->size) {
    size_t capacity = client->capacity == 0 ? 16384 : client->capacity;
    uint8_t *grown;
    while (capacity - client->size < more) capacity *= 2;
    grown = realloc(client->body, capacity);
    if (grown == NULL) return 0;
    client->body = grown;
    client->capacity = capacity;
  }
  memcpy(client->body + client->size, bytes, more);
  client->size += more;
  return more;
}

/// Defeats SSLKEYLOGFILE: a user who starts the app with it makes libcurl write the secrets of every connection to a
/// file. libcurl sets the callback up before it calls this function, which removes it or sends nothing.
static CURLcode keep_secrets(CURL *easy, void *context, void *user) {
  void (*set)(void *, void (*)(void)) = NULL;
  // The symbol comes from the library that libcurl has loaded, so that nothing else needs to be linked.
  void *symbol = dlsym(RTLD_DEFAULT, "SSL_CTX_set_keylog_callback");
  (void)easy;
  (void)user;
  if (symbol == NULL) return CURLE_SSL_ENGINE_SETFAILED;
  memcpy(&set, &symbol, sizeof set);
  set(context, NULL);
  return CURLE_OK;
}

static long resolving(int family) {
  switch (family) {
    case 4:
      return CURL_IPRESOLVE_V4;
    case 6:
      return CURL_IPRESOLVE_V6;
    default:
      return CURL_IPRESOLVE_WHATEVER;
  }
}

/// All options, or nothing is sent: each of them is a defence.
static int prepare(struct phc_client *client, const struct phc_request *request, struct curl_slist *fields,
                   struct curl_slist *connect_to) {
  CURL *easy = client->easy;
  const char *protocols = client->allows_plain ? "http,https" : "https";
  int bad = 0;
  curl_easy_reset(easy);
#define SET(option, value) (bad |= curl_easy_setopt(easy, option, value) != CURLE_OK)
  SET(CURLOPT_URL, request->url);
  SET(CURLOPT_PROTOCOLS_STR, protocols);
  SET(CURLOPT_IPRESOLVE, resolving(request->family));
  if (connect_to != NULL) SET(CURLOPT_CONNECT_TO, connect_to);
  SET(CURLOPT_FOLLOWLOCATION, 0L);
  SET(CURLOPT_PROXY, "");
  SET(CURLOPT_NOPROXY, "*");
  SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
  SET(CURLOPT_NOSIGNAL, 1L);
  SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
  SET(CURLOPT_SSL_VERIFYPEER, 1L);
  SET(CURLOPT_SSL_VERIFYHOST, 2L);
  SET(CURLOPT_SSL_CTX_FUNCTION, keep_secrets);
  if (client->authorities != NULL) {
    SET(CURLOPT_CAINFO, client->authorities);
    SET(CURLOPT_CAPATH, NULL);
  }
  if (request->pins != NULL) SET(CURLOPT_PINNEDPUBLICKEY, request->pins);
  SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
  SET(CURLOPT_ACCEPT_ENCODING, NULL);
  SET(CURLOPT_USERAGENT, "ProofKit");
  SET(CURLOPT_HTTPHEADER, fields);
  SET(CURLOPT_CONNECTTIMEOUT_MS,
      client->connect_timeout_ms < request->timeout_ms ? client->connect_timeout_ms : request->timeout_ms);
  SET(CURLOPT_TIMEOUT_MS, request->timeout_ms);
  // A resolver that does not answer is left to itself when time is over, not waited for.
  SET(CURLOPT_QUICK_EXIT, 1L);
  SET(CURLOPT_TCP_KEEPALIVE, 1L);
  SET(CURLOPT_ERRORBUFFER, client->words);
  SET(CURLOPT_WRITEFUNCTION, take);
  SET(CURLOPT_WRITEDATA, client);
  SET(CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)request->answer_limit);
  if (request->body != NULL) {
    SET(CURLOPT_POST, 1L);
    SET(CURLOPT_POSTFIELDS, request->body);
    SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_size);
  }
  if (request->method != NULL) {
    if (request->body == NULL && strcmp(request->method, "HEAD") == 0) SET(CURLOPT_NOBODY, 1L);
    SET(CURLOPT_CUSTOMREQUEST, request->method);
  }
  // The target is what was signed: libcurl would take dot segments out of it.
  if (request->fields != NULL) SET(CURLOPT_PATH_AS_IS, 1L);
#undef SET
  return bad ? -1 : 0;
}

/// Runs the transfer to its end, its time limit, or a cancellation.
static CURLcode run(struct phc_client *client) {
  int running = 1;
  int left;
  CURLMsg *message;
  while (running) {
    if (atomic_load(&client->cancelled)) return CURLE_ABORTED_BY_CALLBACK;
    if (curl_multi_perform(client->multi, &running) != CURLM_OK) return CURLE_OUT_OF_MEMORY;
    // curl's own timers end the wait; the limit only bounds a defect.
    if (running && curl_multi_poll(client->multi, NULL, 0, 1000, NULL) != CURLM_OK) return CURLE_OUT_OF_MEMORY;
  }
  message = curl_multi_info_read(client->multi, &left);
  return message != NULL && message->msg == CURLMSG_DONE ? message->data.result : CURLE_OUT_OF_MEMORY;
}

/// A handshake that failed: did the connection end, or does the peer speak no TLS that is good enough?
static enum phc_result judge_handshake(const struct phc_client *client) {
  long number = 0;
  (void)curl_easy_getinfo(client->easy, CURLINFO_OS_ERRNO, &number);
  // libcurl has one code for both, and words that differ.
  if (number != 0 || strstr(client->words, "SYSCALL") != NULL || strstr(client->words, "unexpected eof") != NULL) {
    return PHC_E_BROKEN_OFF;
  }
  return PHC_E_UNTRUSTED;
}

static enum phc_result judge(const struct phc_client *client, CURLcode code) {
  if (client->over) return PHC_E_GARBLED;
  switch ((int)code) {
    case CURLE_OK:
      return PHC_OK;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_INTERFACE_FAILED:
      return PHC_E_UNREACHABLE;
    case CURLE_OPERATION_TIMEDOUT:
      return PHC_E_TIMED_OUT;
    case CURLE_PARTIAL_FILE:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
      return PHC_E_BROKEN_OFF;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_CERTPROBLEM:
      return PHC_E_UNTRUSTED;
    case CURLE_SSL_CONNECT_ERROR:
      return judge_handshake(client);
    case CURLE_ABORTED_BY_CALLBACK:
      return PHC_E_CANCELLED;
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_BAD_CONTENT_ENCODING:
    case CURLE_FILESIZE_EXCEEDED:
      return PHC_E_GARBLED;
    default:
      return PHC_E_REFUSED;
  }
}

static int64_t date_of(CURL *easy) {
  struct curl_header *header;
  time_t time;
  if (curl_easy_header(easy, "Date", 0, CURLH_HEADER, -1, &header) != CURLHE_OK) return -1;
  time = curl_getdate(header->value, NULL);
  return time < 0 ? -1 : (int64_t)time;
}

/// NULL without memory, or if the value has an end of line: then `words` says so.
static struct curl_slist *append_authorization(struct curl_slist *fields, const char *value, char *words) {
  static const char name[] = "Authorization: ";
  size_t size = sizeof name + strlen(value);
  struct curl_slist *more = NULL;
  char *field;
  if (strpbrk(value, "\r\n") != NULL) {
    (void)snprintf(words, CURL_ERROR_SIZE, "the authorization has an end of line");
    return NULL;
  }
  field = malloc(size);
  if (field == NULL) return NULL;
  (void)snprintf(field, size, "%s%s", name, value);
  more = curl_slist_append(fields, field);
  explicit_bzero(field, size);
  free(field);
  return more;
}

/// One of the fields is an authorization.
static void free_fields(struct curl_slist *fields) {
  for (struct curl_slist *field = fields; field != NULL; field = field->next) {
    explicit_bzero(field->data, strlen(field->data));
  }
  curl_slist_free_all(fields);
}

/// Fields of the request's own: exactly those, and no type that libcurl would make up for a body. NULL without memory.
static struct curl_slist *own_fields(const struct phc_request *request) {
  // One without a value and without a colon is taken out by libcurl, wherever it would come from.
  struct curl_slist *fields = curl_slist_append(NULL, "Expect:");
  int has_type = 0;
  for (size_t i = 0; fields != NULL && i < request->field_count; i++) {
    struct curl_slist *more = curl_slist_append(fields, request->fields[i]);
    if (more == NULL) curl_slist_free_all(fields);
    fields = more;
    if (strncasecmp(request->fields[i], "content-type:", 13) == 0) has_type = 1;
  }
  if (fields != NULL && !has_type) {
    struct curl_slist *more = curl_slist_append(fields, "Content-Type:");
    if (more == NULL) curl_slist_free_all(fields);
    fields = more;
  }
  return fields;
}

/// The size of a value. libcurl gives an empty one as a carriage return.
static size_t value_size(const struct curl_header *header) {
  size_t size = strlen(header->value);
  while (size > 0 && strchr("\r\n\t ", header->value[size - 1]) != NULL) size--;
  return size;
}

/// Copies the header of the answer. Without memory there is none: -1.
static int keep_head(struct phc_client *client) {
  struct curl_header *header = NULL;
  size_t size = 0;
  char *end;
  while ((header = curl_easy_nextheader(client->easy, CURLH_HEADER, -1, header)) != NULL) {
    size += strlen(header->name) + value_size(header) + 2;
  }
  free(client->head);
  client->head_size = 0;
  client->head = malloc(size + 1);
  if (client->head == NULL) return -1;
  end = client->head;
  while ((header = curl_easy_nextheader(client->easy, CURLH_HEADER, -1, header)) != NULL) {
    end = stpcpy(end, header->name) + 1;
    size = value_size(header);
    memcpy(end, header->value, size);
    end[size] = 0;
    end += size + 1;
  }
  client->head_size = (size_t)(end - client->head);
  return 0;
}

/// libcurl's entry for one host in place of each, with the URL's port. NULL without memory.
static struct curl_slist *other_host(const char *host) {
  static const char any[] = "::";
  size_t size = sizeof any + strlen(host) + 1;
  char *entry = malloc(size);
  struct curl_slist *list = NULL;
  if (entry == NULL) return NULL;
  (void)snprintf(entry, size, "%s%s:", any, host);
  list = curl_slist_append(NULL, entry);
  free(entry);
  return list;
}

enum phc_result phc_client_send(struct phc_answer *answer, struct phc_client *client,
                                const struct phc_request *request) {
  enum phc_result result = PHC_E_REFUSED;
  CURLcode code = CURLE_OUT_OF_MEMORY;
  struct curl_slist *fields = request->fields != NULL
                                  ? own_fields(request)
                                  : curl_slist_append(NULL, "Content-Type: application/octet-stream");
  struct curl_slist *more = fields;
  if (fields != NULL && request->fields == NULL) more = curl_slist_append(fields, "Expect:");
  struct curl_slist *connect_to = request->connect_host != NULL ? other_host(request->connect_host) : NULL;
  if (request->connect_host != NULL && connect_to == NULL) more = NULL;
  client->words[0] = 0;
  if (more != NULL && request->authorization != NULL) {
    more = append_authorization(fields, request->authorization, client->words);
  }
  memset(answer, 0, sizeof *answer);
  answer->server_time = -1;
  client->size = 0;
  client->over = 0;
  client->limit = request->answer_limit;
  if (more != NULL && prepare(client, request, fields, connect_to) == 0 &&
      curl_multi_add_handle(client->multi, client->easy) == CURLM_OK) {
    long connections = 0;
    code = run(client);
    (void)curl_easy_getinfo(client->easy, CURLINFO_NUM_CONNECTS, &connections);
    client->connections += connections;
    result = judge(client, code);
    if (result == PHC_OK) {
      (void)curl_easy_getinfo(client->easy, CURLINFO_RESPONSE_CODE, &answer->status);
      answer->server_time = date_of(client->easy);
      answer->body = client->body;
      answer->body_size = client->size;
      if (request->fields != NULL) {
        if (keep_head(client) == 0) {
          answer->head = client->head;
          answer->head_size = client->head_size;
        } else {
          result = PHC_E_REFUSED;
        }
      }
    }
    (void)curl_multi_remove_handle(client->multi, client->easy);
  }
  if (result != PHC_OK) {
    const char *words = client->over ? "longer than the limit" : client->words;
    (void)snprintf(answer->words, sizeof answer->words, "%.255s", words[0] != 0 ? words : curl_easy_strerror(code));
  }
  // The handle outlives the list and the request's body.
  curl_easy_reset(client->easy);
  free_fields(fields);
  curl_slist_free_all(connect_to);
  return result;
}

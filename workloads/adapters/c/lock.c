/* A lock in C (hiredis) for doublegrant: cc -o lock lock.c -lhiredis; doublegrant explore -- ./lock
 *
 * To test your own lock, change take, renew and give. The rest speaks the protocol:
 * https://github.com/doublegrant/doublegrant/blob/main/workloads/adapters/README.md */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define RELEASE "if redis.call(\"get\", KEYS[1]) == ARGV[1] then return redis.call(\"del\", KEYS[1]) end return 0"
#define EXTEND "if redis.call(\"get\", KEYS[1]) == ARGV[1] then return redis.call(\"pexpire\", KEYS[1], ARGV[2]) end return 0"

static redisContext *redis; /* NULL: connect first */

/* Each asks Redis once; the caller frees the reply. owner is a token that nobody else has. */
static redisReply *take(const char *key, const char *owner, const char *ttl) {
  return redisCommand(redis, "SET %s %s NX PX %s", key, owner, ttl);
}
static redisReply *renew(const char *key, const char *owner, const char *ttl) {
  return redisCommand(redis, "EVAL %s 1 %s %s %s", EXTEND, key, owner, ttl);
}
static redisReply *give(const char *key, const char *owner, const char *ttl) {
  (void)ttl;
  return redisCommand(redis, "EVAL %s 1 %s %s", RELEASE, key, owner);
}

/* field copies a field of a line; empty: it has none. Keys and tokens of the harness have no quotes. */
static void field(const char *line, const char *name, char *to, size_t size) {
  char quoted[32];
  snprintf(quoted, sizeof quoted, "\"%s\":", name);
  const char *at = strstr(line, quoted);
  size_t n = 0;
  if (at != NULL)
    for (at += strlen(quoted), at += *at == '"'; *at && !strchr("\",}", *at) && n + 1 < size;) to[n++] = *at++;
  to[n] = 0;
}

/* operate does one operation and writes its outcome: if nobody knows, info. */
static void operate(const char *line, const char *id, const char *host, int port, long timeout) {
  char what[16], key[256], owner[256], ttl[32];
  field(line, "do", what, sizeof what), field(line, "key", key, sizeof key);
  field(line, "owner", owner, sizeof owner), field(line, "ttl_ms", ttl, sizeof ttl);
  if (redis == NULL) {
    redis = redisConnect(host, port);
    if (redis != NULL && timeout > 0) redisSetTimeout(redis, (struct timeval){timeout / 1000, timeout % 1000 * 1000});
  }
  redisReply *r = redis == NULL || redis->err ? NULL : *what == 'a' ? take(key, owner, ttl) : *what == 'e' ? renew(key, owner, ttl) : give(key, owner, ttl);
  if (r == NULL || r->type == REDIS_REPLY_ERROR) {
    printf("{\"id\":%s,\"info\":\"no answer, or an error\"}\n", id);
    if (redis != NULL) redisFree(redis);
    redis = NULL; /* the next operation connects anew */
  } else {
    printf("{\"id\":%s,\"ok\":%s}\n", id, r->type == REDIS_REPLY_STATUS || r->integer == 1 ? "true" : "false");
  }
  if (r != NULL) freeReplyObject(r);
}

int main(void) {
  char line[65536], id[32], what[16], url[256] = "", timeout[32] = "", *host = url, *port = NULL;
  while (fgets(line, sizeof line, stdin)) {
    field(line, "id", id, sizeof id), field(line, "do", what, sizeof what);
    if (!strcmp(what, "init")) {
      field(line, "redis", url, sizeof url), field(line, "timeout_ms", timeout, sizeof timeout);
      host = url + strlen("redis://");
      if ((port = strrchr(host, ':')) != NULL) *port++ = 0;
      printf("{\"id\":%s,\"ok\":true,\"version\":1,\"can\":[\"acquire\",\"extend\",\"release\"],\"symmetric\":true,\"clients\":1}\n", id);
    } else if (!strcmp(what, "reset")) {
      printf("{\"id\":%s,\"ok\":true}\n", id);
    } else {
      operate(line, id, host, port == NULL ? 6379 : atoi(port), atol(timeout));
    }
    fflush(stdout);
  }
  return 0;
}

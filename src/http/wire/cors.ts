// The specification's lists, united with those of the API's later versions.
const allowedHeaders = [
  'Content-Type',
  'Depth',
  'User-Agent',
  'X-File-Size',
  'X-Requested-With',
  'If-Modified-Since',
  'X-File-Name',
  'Cache-Control',
  'X-Auth-Token',
  'If-Match',
  'If-None-Match',
  'Authorization',
  'X-HTTP-Method-Override',
  'X-Kazoo-Cluster-ID',
  'X-Request-ID',
  'X-Auth-Account-ID',
  'X-Pretty-Print',
  'Idempotency-Key',
]
const exposedHeaders = [
  'Content-Type',
  'X-Auth-Token',
  'X-Request-ID',
  'X-Kazoo-Cluster-ID',
  'Location',
  'Etag',
  'ETag',
  'Retry-After',
  'Content-Disposition',
  'X-Next-Start-Key',
  'X-Last-Event-ID',
]

/** On every answer, so that a browser shows an error instead of a network failure. Flat: name, value, name, value. */
export const corsHeaders: readonly string[] = [
  'access-control-allow-origin',
  '*',
  'access-control-allow-methods',
  'GET, POST, PUT, PATCH, DELETE, OPTIONS, HEAD',
  'access-control-allow-headers',
  allowedHeaders.join(', '),
  'access-control-expose-headers',
  exposedHeaders.join(', '),
  'access-control-max-age',
  '86400',
]

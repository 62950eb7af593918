import type { IncomingMessage } from 'node:http'

const absolute = /^https?:\/\/[^/?#]+/i

/** Path and query of a request. Whom proxies and some clients name before them is the server that they ask. */
export const targetOf = ({ url = '/' }: Pick<IncomingMessage, 'url'>) => {
  const origin = url.startsWith('/') ? undefined : absolute.exec(url)
  if (!origin) return url
  const target = url.slice(origin[0].length)
  return target.startsWith('/') ? target : `/${target}`
}

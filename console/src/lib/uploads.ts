/** How much of a file has left this machine, in bytes. */
type Follower = (sent: number) => void

const followed = new WeakMap<Blob, Follower>()

/** Reports the progress of a file that is sent as a body. */
export const followUpload = (file: Blob, follower: Follower) => followed.set(file, follower)

const headersOf = (request: XMLHttpRequest) =>
  request
    .getAllResponseHeaders()
    .trim()
    .split('\r\n')
    .map((line) => line.split(/: (.*)/s))
    .flatMap(([name, value]): [string, string][] => (name && value !== undefined ? [[name, value]] : []))

// `fetch` does not tell how much it has sent.
const send = (file: Blob, tell: Follower, url: string, { method = 'PUT', headers, signal }: RequestInit) =>
  new Promise<Response>((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open(method, url)
    for (const [name, value] of new Headers(headers)) request.setRequestHeader(name, value)
    request.upload.onprogress = ({ loaded }) => tell(loaded)
    request.onload = () =>
      resolve(new Response(request.responseText, { status: request.status, headers: headersOf(request) }))
    request.onerror = () => reject(new TypeError('the line broke off'))
    request.onabort = () => reject(signal?.reason)
    signal?.addEventListener('abort', () => request.abort(), { once: true })
    request.send(file)
  })

/** `fetch` that reports the progress of uploaded files. */
export const withUploads =
  (plain: typeof fetch): typeof fetch =>
  (input, init = {}) => {
    const { body } = init
    const tell = body instanceof Blob ? followed.get(body) : undefined
    return body instanceof Blob && tell && typeof input === 'string'
      ? send(body, tell, input, init)
      : plain(input, init)
  }

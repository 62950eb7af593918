// Requests over TLS, to a server that has one of the certificates of the tests.
import { readFileSync } from 'node:fs'
import { request } from 'node:https'
import { text } from 'node:stream/consumers'
import type { PeerCertificate, TLSSocket } from 'node:tls'

const certificates = new URL('certificates/', import.meta.url).pathname

/** The path of a certificate or key, such as `first.cert.pem`. */
export const shipped = (name: string) => `${certificates}${name}`

export const authorities = ['first', 'second'].map((name) =>
  readFileSync(shipped(`${name}.cert.pem`), 'utf8'),
)

export const getSecurely = (port: number, path = '/healthz') =>
  new Promise<{ status: number | undefined; body: string; subject: string }>((resolve, reject) => {
    let subject = ''
    request({ host: '127.0.0.1', port, path, ca: authorities, agent: false }, (response) => {
      text(response).then((body) => resolve({ status: response.statusCode, body, subject }), reject)
    })
      .on('socket', (socket) =>
        // A socket that has ended has no certificate.
        socket.once('secureConnect', () => {
          subject = String(((socket as TLSSocket).getPeerCertificate() as PeerCertificate).subject.CN)
        }),
      )
      .on('error', reject)
      .end()
  })

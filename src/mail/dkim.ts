import { createHash, createPrivateKey, type KeyObject, sign } from 'node:crypto'
import { domainToASCII } from 'node:url'
import type { Signing } from './senders.ts'

// RFC 6376 (rsa-sha256) and RFC 8463 (ed25519-sha256). The mail library signs with RSA only, and silently leaves a message
// unsigned if the key is of another kind.

const algorithms: Record<string, string> = { rsa: 'rsa-sha256', ed25519: 'ed25519-sha256' }

const signedFields = [
  'from',
  'to',
  'subject',
  'date',
  'message-id',
  'reply-to',
  'mime-version',
  'content-type',
  'content-transfer-encoding',
]

// Named once more than they occur, so that a second one breaks the signature.
const sealedFields = ['from', 'to', 'subject', 'reply-to']

const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest()

/** RFC 6376 section 3.4.2. */
const relaxedField = (line: string) => {
  const colon = line.indexOf(':')
  const value = line
    .slice(colon + 1)
    .replace(/\r\n/g, '')
    .replace(/[ \t]+/g, ' ')
    .trim()
  return `${line.slice(0, colon).trim().toLowerCase()}:${value}`
}

/** RFC 6376 section 3.4.4. */
const relaxedBody = (body: string) => {
  const lines = body
    .replace(/[ \t]+/g, ' ')
    .replaceAll(' \r\n', '\r\n')
    .trimEnd()
  return lines === '' ? '' : `${lines}\r\n`
}

const headerFields = (head: string) =>
  head
    .replace(/\r\n([ \t])/g, '\n$1')
    .split('\r\n')
    .map((line) => line.replaceAll('\n', '\r\n'))

const fieldName = (line: string) => line.slice(0, line.indexOf(':')).trim().toLowerCase()

const dkimSignature = (key: KeyObject, data: string) =>
  key.asymmetricKeyType === 'ed25519'
    ? sign(null, sha256(Buffer.from(data, 'latin1')), key)
    : sign('sha256', Buffer.from(data, 'latin1'), key)

const foldedBase64 = (bytes: Buffer) => (bytes.toString('base64').match(/.{1,72}/g) ?? []).join('\r\n ')

/** The message with a signature in front. Throws if DKIM does not know the kind of key. */
export const signMessage = (message: Buffer, { domain, selector, privateKey }: Signing): Buffer => {
  const key = createPrivateKey(privateKey)
  const algorithm = algorithms[key.asymmetricKeyType ?? '']
  if (!algorithm) throw new Error(`DKIM does not support ${key.asymmetricKeyType} keys`)
  // One character for each byte.
  const text = message.toString('latin1')
  const end = text.indexOf('\r\n\r\n')
  const fields = headerFields(text.slice(0, end))
  const present = signedFields.flatMap((name) => fields.find((line) => fieldName(line) === name) ?? [])
  const names = [...present.map(fieldName), ...sealedFields]
  const tags = [
    'v=1',
    `a=${algorithm}`,
    'c=relaxed/relaxed',
    `d=${domainToASCII(domain)}`,
    `s=${domainToASCII(selector)}`,
    `h=${names.join(':\r\n ')}`,
    `bh=${sha256(Buffer.from(relaxedBody(text.slice(end + 4)), 'latin1')).toString('base64')}`,
    'b=',
  ]
  const field = `DKIM-Signature: ${tags.join(';\r\n ')}`
  const data = [...present, field].map(relaxedField).join('\r\n')
  const signature = foldedBase64(dkimSignature(key, data))
  return Buffer.concat([Buffer.from(`${field}${signature}\r\n`, 'latin1'), message])
}

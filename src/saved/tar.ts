import { pipeline, Readable, type Transform } from 'node:stream'
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib'
import { Decrypter, Encrypter } from 'age-encryption'
import { createTarDecoder, createTarPacker } from 'modern-tar'
import { messageOf } from '../lib/error-facts.ts'
import { Refusal } from '../storage/saved-store.ts'

export const damaged = (what: string) => new Refusal(`the backup is damaged: ${what}`)

// Compression with zstd, and encryption in the age format.

const ageBeginning = Buffer.from('age-encryption.org/v1')
const zstdBeginning = Buffer.from([0x28, 0xb5, 0x2f, 0xfd])

/** Readers of the result get failures of both sides. */
const through = (content: AsyncIterable<Uint8Array>, stream: Transform): AsyncIterable<Uint8Array> => {
  pipeline(Readable.from(content), stream, () => undefined)
  return stream
}

const webStreamOf = (content: AsyncIterable<Uint8Array>) => {
  const pieces = content[Symbol.asyncIterator]()
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { value, done } = await pieces.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    async cancel() {
      await pieces.return?.()
    },
  })
}

async function* piecesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader()
  try {
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    // The reader has stopped, or knows the failure.
    await reader.cancel().catch(() => undefined)
  }
}

const encrypterFor = (recipients: readonly string[]) => {
  const encrypter = new Encrypter()
  for (const recipient of recipients) {
    try {
      encrypter.addRecipient(recipient)
    } catch {
      throw new Refusal(`${JSON.stringify(recipient)} is not a recipient: a recipient begins with age1`)
    }
  }
  return encrypter
}

/** Refuses invalid recipients before any work is done. */
export const checkRecipients = (recipients: readonly string[]): void => void encrypterFor(recipients)

/** Encrypts if there are recipients. */
export const enclose = async (
  content: AsyncIterable<Uint8Array>,
  recipients: readonly string[],
): Promise<AsyncIterable<Uint8Array>> => {
  const compress = createZstdCompress({ params: { [constants.ZSTD_c_checksumFlag]: 1 } })
  const compressed = through(content, compress)
  if (recipients.length === 0) return compressed
  return piecesOf(await encrypterFor(recipients).encrypt(webStreamOf(compressed)))
}

/** A file of `age-keygen`. */
const identitiesIn = (text: string) =>
  text.split('\n').flatMap((line) => (line.trim() === '' || line.startsWith('#') ? [] : line.trim()))

const decrypterWith = (identities: string) => {
  const decrypter = new Decrypter()
  const found = identitiesIn(identities)
  if (found.length === 0)
    throw new Refusal('the file contains no identity: an identity begins with AGE-SECRET-KEY-')
  for (const identity of found) {
    try {
      decrypter.addIdentity(identity)
    } catch {
      // Secret: not repeated.
      throw new Refusal(
        'the file contains a line that is not an identity: an identity begins with AGE-SECRET-KEY-',
      )
    }
  }
  return decrypter
}

const decrypted = async (source: AsyncIterable<Uint8Array>, identities: string | undefined) => {
  if (identities === undefined)
    throw new Refusal('the backup is encrypted: add --identity FILE with your identity')
  try {
    return piecesOf(await decrypterWith(identities).decrypt(webStreamOf(source)))
  } catch (error) {
    if (error instanceof Refusal) throw error
    throw new Refusal(`the backup cannot be decrypted with this identity (${messageOf(error)})`)
  }
}

/** The first bytes, and a stream with all of them. */
const lookAhead = async (source: AsyncIterable<Uint8Array>, bytes: number) => {
  const pieces = source[Symbol.asyncIterator]()
  let head = Buffer.alloc(0)
  while (head.length < bytes) {
    const { value, done } = await pieces.next()
    if (done) break
    head = Buffer.concat([head, value])
  }
  async function* whole(): AsyncGenerator<Uint8Array> {
    yield head
    for (;;) {
      const { value, done } = await pieces.next()
      if (done) return
      yield value
    }
  }
  return { head, whole: whole() }
}

const beginsWith = (head: Buffer, beginning: Buffer) => head.subarray(0, beginning.length).equals(beginning)

/** Reports failures as damage. */
async function* telling(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* content
  } catch (error) {
    throw error instanceof Refusal ? error : damaged(messageOf(error))
  }
}

/** The reverse of `enclose`. */
export const disclose = async (
  source: AsyncIterable<Uint8Array>,
  identities: string | undefined,
): Promise<AsyncIterable<Uint8Array>> => {
  const outer = await lookAhead(source, ageBeginning.length)
  const isEncrypted = beginsWith(outer.head, ageBeginning)
  const clear = isEncrypted ? await decrypted(outer.whole, identities) : outer.whole
  const inner = await lookAhead(telling(clear), zstdBeginning.length)
  if (!beginsWith(inner.head, zstdBeginning)) throw new Refusal('the file is not a backup of Crosspoint')
  return telling(through(inner.whole, createZstdDecompress()))
}

export interface Member {
  name: string
  content: Buffer
}

export interface FoundMember {
  name: string
  /** Must be read before the next member. */
  content: AsyncIterable<Uint8Array>
}

export async function* writeTar(members: AsyncIterable<Member>): AsyncGenerator<Uint8Array> {
  const { readable, controller } = createTarPacker()
  const addAll = async () => {
    for await (const { name, content } of members) {
      const body = controller.add({ name, size: content.length, mode: 0o600, mtime: new Date(0) }).getWriter()
      await body.write(content)
      await body.close()
    }
    controller.finalize()
  }
  const added = addAll().catch((error) => controller.error(error))
  try {
    yield* readable
  } finally {
    await added
  }
}

/** Decoder errors become refusals. */
async function* refusing<T>(found: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* found
  } catch (error) {
    throw error instanceof Refusal ? error : damaged('it is not a complete tar file')
  }
}

/** Refuses damaged files and members that are not files. */
export async function* readTar(source: AsyncIterable<Uint8Array>): AsyncGenerator<FoundMember> {
  const found = webStreamOf(source).pipeThrough(createTarDecoder({ strict: true }))
  for await (const { header, body } of refusing(found)) {
    if (header.type !== 'file') throw damaged('it contains entries that do not belong in a backup')
    yield { name: header.name, content: refusing(body) }
  }
}

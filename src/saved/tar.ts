import { createTarDecoder, createTarPacker } from 'modern-tar'
import { Refusal } from '../storage/saved-store.ts'
import { damaged } from './damage.ts'
import { webStreamOf } from './envelope.ts'

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
    throw error instanceof Refusal ? error : damaged('it is not a whole tar file')
  }
}

/** Refuses damaged files and members that are no files. */
export async function* readTar(source: AsyncIterable<Uint8Array>): AsyncGenerator<FoundMember> {
  const found = webStreamOf(source).pipeThrough(createTarDecoder({ strict: true }))
  for await (const { header, body } of refusing(found)) {
    if (header.type !== 'file') throw damaged('it holds what no backup holds')
    yield { name: header.name, content: refusing(body) }
  }
}

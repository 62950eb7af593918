// Files of call records are packed and unpacked outside the event loop.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { endBytesOf } from '../../src/areas/calls/cdrs/archive/file.ts'
import { createFileReader, createFileThread } from '../../src/areas/calls/cdrs/archive/files.ts'
import { turnsDuring } from '../support/run/event-loop-turns.ts'
import { bareLeg, edge } from '../support/world/any-legs.ts'

const legs = (count: number, first = 0) =>
  Array.from({ length: count }, (_, at) =>
    bareLeg({
      account_id: 'a',
      id: `202601-${String(first + at).padStart(6, '0')}`,
      created: edge + first + at,
      rest: `{"n":${at % 7}}`,
    }),
  )

describe('A file of call records', () => {
  let thread: ReturnType<typeof createFileThread>
  let reader: ReturnType<typeof createFileReader>

  beforeEach(() => {
    thread = createFileThread()
    reader = createFileReader()
  })
  afterEach(() => Promise.all([thread.close(), reader.close()]))

  const endOf = (bytes: Uint8Array) => reader.end(bytes.subarray(-endBytesOf(bytes.subarray(-8))))

  const rowsOf = async (bytes: Uint8Array) => {
    const { groups } = await endOf(bytes)
    const read = groups.map((group) => reader.rows(group, bytes.slice(group.from, group.to)))
    return Promise.all(read)
  }

  it('has what was added to it, and the next one nothing of it', async () => {
    await thread.add(legs(5))
    await thread.add(legs(3, 5))
    const first = await thread.finish()
    await thread.add(legs(2))
    const second = await thread.finish()
    expect(await rowsOf(first.bytes)).toEqual([legs(5), legs(3, 5)])
    expect(await rowsOf(second.bytes)).toEqual([legs(2)])
    expect([first.records, second.records]).toEqual([8, 2])
  })

  it('is packed and unpacked while other work continues', async () => {
    const rows = legs(500)
    await thread.add(rows)
    await reader.end(new Uint8Array()).catch(() => undefined)
    expect(await turnsDuring(() => thread.add(rows))).toBeGreaterThan(50)
    let bytes = new Uint8Array()
    const finishing = async () => {
      bytes = (await thread.finish()).bytes
    }
    expect(await turnsDuring(finishing)).toBeGreaterThan(50)
    const [group] = (await endOf(bytes)).groups
    if (!group) throw new Error('there is no group')
    const part = bytes.slice(group.from, group.to)
    expect(await turnsDuring(() => reader.rows(group, part))).toBeGreaterThan(50)
  })

  it('of which a thread that ended had a part is not taken for whole', async () => {
    await thread.add(legs(5))
    await thread.close()
    await thread.add(legs(3, 5))
    await expect(thread.finish()).rejects.toThrow('the thread lost a chunk of the file')
  })

  it('that is damaged is an error for its reader only', async () => {
    await thread.add(legs(5))
    const { bytes } = await thread.finish()
    const [group] = (await endOf(bytes)).groups
    if (!group) throw new Error('there is no group')
    const part = bytes.slice(group.from, group.to)
    await expect(
      reader.rows(
        group,
        part.map(() => 7),
      ),
    ).rejects.toThrow()
    expect(await reader.rows(group, part)).toEqual(legs(5))
  })
})

import { messageOf } from '../../../../lib/error-facts.ts'
import { dropNulls } from '../../../../lib/json-merge.ts'
import { parseLeniently } from '../../../../lib/lenient-json.ts'
import { looseUtf8Text } from '../../../../lib/utf8.ts'
import type { Entry } from './operations.ts'

// A leg with both session descriptions and all variables of a switch has about 20 KB.
const maxLineBytes = 262_144
const newline = 0x0a

const tooLong = `the line is longer than ${maxLineBytes} bytes`

const entryOfLine = (line: number, bytes: Buffer): Entry | undefined => {
  if (bytes.length > maxLineBytes) return { line, flaw: tooLong }
  const text = looseUtf8Text(bytes).trim()
  // A byte order mark counts as space to trim().
  if (text === '') return undefined
  try {
    const parsed = parseLeniently(text)
    const { value: record } = parsed
    const isRepaired = parsed.isRepaired || !text.isWellFormed()
    // Faster than a walk through every record.
    const kept = text.includes('null') ? dropNulls(record) : record
    // Without an escape a text has no NUL and no unpaired surrogate.
    return {
      line,
      bytes: bytes.length,
      record: kept,
      handover: isRepaired || text.includes('\\u') ? 'given' : 'given with sound texts',
      isRepaired,
    }
  } catch (error) {
    return { line, flaw: messageOf(error).slice(0, 200) }
  }
}

/** Records of NDJSON, in the batches of the chunks. Empty lines count and are skipped. */
export async function* entriesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Entry[]> {
  let line = 0
  let begun: Buffer[] = []
  let begunBytes = 0

  const keep = (bytes: Buffer) => {
    begunBytes += bytes.length
    if (begunBytes - bytes.length <= maxLineBytes) begun.push(bytes)
  }

  const finish = (): Entry | undefined => {
    line += 1
    const [first] = begun
    const entry =
      begunBytes > maxLineBytes
        ? { line, flaw: tooLong }
        : entryOfLine(line, first && begun.length === 1 ? first : Buffer.concat(begun))
    begun = []
    begunBytes = 0
    return entry
  }

  for await (const chunk of chunks) {
    const entries: Entry[] = []
    let from = 0
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, from)) {
      keep(chunk.subarray(from, end))
      const entry = finish()
      if (entry) entries.push(entry)
      from = end + 1
    }
    if (from < chunk.length) keep(chunk.subarray(from))
    yield entries
  }
  const last = finish()
  if (last) yield [last]
}

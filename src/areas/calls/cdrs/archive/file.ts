import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { type AsyncBuffer, type FileMetaData, parquetMetadata, parquetRead } from 'hyparquet'
import { hashParquetValue, readBloomFilter, sbbfContains } from 'hyparquet/src/bloom.js'
import { ByteWriter, ParquetWriter } from 'hyparquet-writer'
import { type CdrRow, cdrColumns, storedColumns } from '../columns.ts'

// Call records as Parquet: the columns of columns.ts, sorted by account, time and id. The server reads one group of
// rows at a time.

const ownIntegers: readonly string[] = ['cost', 'reseller_cost', 'csv_quoted', 'csv_guarded']
const requiredColumns: readonly string[] = [
  'account_id',
  'id',
  'created',
  'interaction_time',
  'interaction_key',
]

interface FileColumn {
  name: keyof CdrRow
  isInteger: boolean
}

const typeOf = new Map<string, string>(cdrColumns.map(({ sql, type }) => [sql, type]))

const fileColumns: readonly FileColumn[] = storedColumns.map((name) => ({
  name,
  isInteger: typeOf.get(name) === 'integer' || ownIntegers.includes(name),
}))

const integerNames = fileColumns.filter(({ isInteger }) => isInteger).map(({ name }) => name)

const schema = [
  { name: 'root', num_children: fileColumns.length },
  ...fileColumns.map(({ name, isInteger }) => ({
    name,
    repetition_type: requiredColumns.includes(name) ? ('REQUIRED' as const) : ('OPTIONAL' as const),
    ...(isInteger
      ? { type: 'INT64' as const }
      : { type: 'BYTE_ARRAY' as const, converted_type: 'UTF8' as const }),
  })),
]

// Columns with statistics: groups are selected by them.
const columnsWithStatistics: readonly string[] = ['account_id', 'created', 'interaction_time']

const codec = 'ZSTD'
const compressors = { ZSTD: (bytes: Uint8Array) => zstdCompressSync(bytes) }
const decompressors = { ZSTD: (bytes: Uint8Array) => zstdDecompressSync(bytes) }

const digestOfRows = (rows: readonly CdrRow[]) => {
  const hash = createHash('sha256')
  for (const row of rows)
    hash.update(JSON.stringify(Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1))))
  return hash.digest('hex')
}

/** A file that is being written, in memory. `FileSizes` limits it. */
export const createFileWriter = () => {
  const digests: string[] = []
  let records = 0
  const target = new ByteWriter()
  const writer = new ParquetWriter({
    writer: target,
    schema,
    codec,
    compressors,
    // A truncated bound would not be an account id.
    statisticsTruncateLength: Number.POSITIVE_INFINITY,
    createdBy: 'crosspoint',
  })
  return {
    get bytes() {
      return target.offset
    },
    get records() {
      return records
    },
    /** Adds a group: rows ordered by account, time and id, after those before. */
    add(rows: readonly CdrRow[]) {
      const columnData = fileColumns.map(({ name, isInteger }) => ({
        name,
        data: rows.map((row) => {
          const value = row[name]
          return isInteger && value !== null ? BigInt(value) : value
        }),
        statistics: columnsWithStatistics.includes(name),
        ...(name === 'id' ? { bloomFilter: { fpp: 0.001 } } : {}),
      }))
      writer.write({ columnData, rowGroupSize: rows.length })
      digests.push(digestOfRows(rows))
      records += rows.length
    },
    /** The complete file. Every group is read back and compared. */
    async finish(): Promise<Uint8Array<ArrayBuffer>> {
      writer.finish()
      const bytes = new Uint8Array(target.getBuffer())
      const { groups } = fileEndOf(bytes.subarray(-endBytesOf(bytes.subarray(-8))))
      const found: string[] = []
      for (const group of groups)
        found.push(digestOfRows(await rowsOfGroup(group, bytes.subarray(group.from, group.to))))
      if (!isDeepStrictEqual(found, digests))
        throw new Error('the content of the file differs from what was written')
      return bytes
    },
  }
}

/** A part of a file, in bytes; the end is exclusive. */
interface ByteSpan {
  from: number
  to: number
}

interface Bounds<T> {
  first: T
  last: T
}

/** A group of rows, as the end of the file describes it. */
export interface FileGroup extends ByteSpan {
  /** Position of the first row in the file. */
  row: number
  rows: number
  account: Bounds<string>
  created: Bounds<number>
  interactionTime: Bounds<number>
  /** The Bloom filter of the ids. */
  ids: ByteSpan | undefined
  /** The metadata of a file with this group only. */
  metadata: FileMetaData
}

export interface FileEnd {
  groups: readonly FileGroup[]
  /** The Bloom filters of all groups, one after the other. */
  ids: ByteSpan | undefined
}

type ParquetGroup = FileMetaData['row_groups'][number]

const columnOf = ({ columns: chunks }: ParquetGroup, name: string) => {
  const found = chunks.find(({ meta_data: data }) => data?.path_in_schema[0] === name)?.meta_data
  if (!found) throw new Error(`the file has no column ${name}`)
  return found
}

const boundsOf = <T>(group: ParquetGroup, name: string, read: (value: unknown) => T): Bounds<T> => {
  const { min_value: first, max_value: last } = columnOf(group, name).statistics ?? {}
  if (first === undefined || last === undefined) throw new Error(`the file has no bounds of ${name}`)
  return { first: read(first), last: read(last) }
}

const byteSpanOf = (parts: readonly ByteSpan[]): ByteSpan => ({
  from: Math.min(...parts.map(({ from }) => from)),
  to: Math.max(...parts.map(({ to }) => to)),
})

const bytesOfGroup = ({ columns: chunks }: ParquetGroup) =>
  byteSpanOf(
    chunks.map(({ meta_data: data }) => {
      const from = Number(data?.dictionary_page_offset ?? data?.data_page_offset)
      return { from, to: from + Number(data?.total_compressed_size) }
    }),
  )

const idsOf = (group: ParquetGroup): ByteSpan | undefined => {
  const { bloom_filter_offset: offset, bloom_filter_length: length } = columnOf(group, 'id')
  if (offset === undefined || length === undefined) return undefined
  return { from: Number(offset), to: Number(offset) + Number(length) }
}

/** A column of a group without its statistics, which take most of the memory. */
const chunkOf = ({ file_offset, meta_data: data }: ParquetGroup['columns'][number]) => {
  if (!data) throw new Error('a column of the file is not described')
  const { statistics: _, ...kept } = data
  return { file_offset, meta_data: { ...kept, encodings: [] } }
}

/** Parses the last bytes of a file, at least as many as `endBytesOf` returns. */
export const fileEndOf = (end: Uint8Array): FileEnd => {
  const { buffer, byteOffset, byteLength } = end
  const bytes = buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer
  const { row_groups: all, version, schema } = parquetMetadata(bytes)
  let row = 0
  const groups = all.map((group): FileGroup => {
    const { num_rows, total_byte_size } = group
    const rows = Number(num_rows)
    const alone = { num_rows, total_byte_size, columns: group.columns.map(chunkOf) }
    row += rows
    return {
      row: row - rows,
      rows,
      ...bytesOfGroup(group),
      account: boundsOf(group, 'account_id', String),
      created: boundsOf(group, 'created', Number),
      interactionTime: boundsOf(group, 'interaction_time', Number),
      ids: idsOf(group),
      metadata: { version, schema, num_rows, row_groups: [alone], metadata_length: 0 },
    }
  })
  const ids = groups.flatMap((group) => group.ids ?? [])
  return { groups, ids: ids.length > 0 ? byteSpanOf(ids) : undefined }
}

/** Length of the end of a file, from its last 8 bytes. */
export const endBytesOf = (last: Uint8Array) =>
  new DataView(last.buffer, last.byteOffset, 8).getUint32(0, true) + 8

const cdrRowOf = (read: Record<string, unknown>): CdrRow => {
  for (const name of integerNames) {
    const value = read[name]
    read[name] = typeof value === 'bigint' ? Number(value) : null
  }
  return read as unknown as CdrRow
}

export const rowsOfGroup = async (
  { from, rows, metadata }: FileGroup,
  bytes: Uint8Array,
): Promise<CdrRow[]> => {
  const file: AsyncBuffer = {
    byteLength: Number.MAX_SAFE_INTEGER,
    slice: (start, end = start) => {
      const at = bytes.byteOffset - from
      return bytes.buffer.slice(at + start, at + end) as ArrayBuffer
    },
  }
  let found: Record<string, unknown>[] = []
  await parquetRead({
    file,
    metadata,
    rowStart: 0,
    rowEnd: rows,
    compressors: decompressors,
    rowFormat: 'object',
    onComplete: (read) => {
      found = read
    },
  })
  return found.map(cdrRowOf)
}

/** Whether a group may have an id. `bytes`: its Bloom filter, `ids` of the group. */
export const mayHoldId = (bytes: Uint8Array, id: string) => {
  const filter = readBloomFilter({
    view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength),
    offset: 0,
  })
  const hash = hashParquetValue(id, { name: 'id', type: 'BYTE_ARRAY', converted_type: 'UTF8' })
  return !filter || hash === undefined || sbbfContains(filter.blocks, hash)
}

import { describe, expect, it } from 'vitest'
import { notesOf } from '../../import-kazoo/conversions/findings.ts'
import { numberFields } from '../../import-kazoo/conversions/numbers.rules.ts'
import {
  fieldOf,
  integer,
  object,
  readFields,
  text,
  writeFields,
} from '../../import-kazoo/conversions/tables.ts'
import { kazooDocument } from '../support/kazoo/kazoo-documents.ts'

const table = [
  text('status', 'pvt_status', 'pvt_old_status'),
  integer('count', 'pvt_count'),
  object('metadata'),
  fieldOf(
    (fields, key) => (fields[key] === undefined ? undefined : Number(fields[key]) / 10),
    (value) => (value === undefined ? undefined : Number(value) * 10),
  )('amount', 'pvt_amount'),
]

const read = (fields: Record<string, unknown>, of = table) =>
  readFields(of, fields, notesOf(kazooDocument('d', { _id: 'i' })))

describe('a table of fields', () => {
  it('reads the first key that has a value, and leaves out what a document does not have', () => {
    expect(read({ pvt_status: '', pvt_old_status: 'old', pvt_count: '7', metadata: [], other: 1 })).toEqual({
      status: 'old',
      count: 7,
    })
    expect(read({ pvt_status: 'new', pvt_old_status: 'old', pvt_amount: 50 })).toEqual({
      status: 'new',
      amount: 5,
    })
  })

  it('writes the first key of each field that the record has', () => {
    expect(writeFields(table, { status: 'new', amount: 5, other: 1 })).toEqual({
      pvt_status: 'new',
      pvt_amount: 50,
    })
  })

  it('reads what it wrote', () => {
    const record = { status: 'new', count: 7, metadata: { a: 1 }, amount: 5 }
    expect(read(writeFields(table, record))).toEqual(record)
    const number = {
      featuresAllowed: ['e911'],
      featuresDenied: ['cnam'],
      carrierData: { a: 1 },
      portedIn: true,
      region: 'CA',
      locality: { city: 'X' },
    }
    expect(read(writeFields(numberFields, number), numberFields)).toEqual(number)
  })
})

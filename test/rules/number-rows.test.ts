import fc from 'fast-check'
import { parsePhoneNumberFromString } from 'libphonenumber-js/min'
import { describe, expect, it } from 'vitest'
import {
  cellVerifiers,
  errorTextOf,
  featureColumns,
  numberColumns,
  numberRow,
  publicFieldsIn,
  type ShownNumber,
} from '../../src/areas/numbers/phone-numbers/bulk/rules.ts'
import {
  invalidStateTransition,
  noChangeRequired,
  notReconcilable,
  numberExists,
  numberForbidden,
  numberNotFound,
} from '../../src/areas/numbers/phone-numbers/failures.ts'
import { countryOf } from '../../src/areas/numbers/phone-numbers/numbering.ts'
import { billingIssue, datastoreConflict, failure, invalid } from '../../src/lib/failure.ts'

const number: ShownNumber = {
  id: '+14155550100',
  accountId: 'a'.repeat(32),
  state: 'in_service',
  created: 63_900_000_000,
  modified: 63_900_000_001,
  usedBy: '',
  carrier: 'knm_local',
  doc: {},
  hidden: {},
}

const texts = fc.string({ minLength: 1, maxLength: 12 })
const fields = fc.record(
  {
    cnam: fc.record({ inbound_lookup: fc.boolean(), display_name: texts }),
    e911: fc.record({
      locality: texts,
      caller_name: texts,
      region: texts,
      street_address: texts,
      extended_address: texts,
      postal_code: texts,
    }),
    prepend: fc.record({ enabled: fc.boolean(), name: texts, number: texts }),
    ringback: fc.record({ early: texts, transfer: texts }),
    force_outbound: fc.boolean(),
    failover: fc.record({ e164: texts, sip: texts }),
  },
  { requiredKeys: [] },
)

const cellsOf = (row: object) =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, value === undefined ? undefined : String(value)]),
  )

describe('a number as a row', () => {
  it('has the columns of the list, in their order', () => {
    expect(Object.keys(numberRow(number, 'Acme'))).toEqual(numberColumns)
    expect(numberColumns.slice(-featureColumns.length)).toEqual(featureColumns)
    expect(numberColumns).toHaveLength(26)
  })

  it('has the public fields that make it again', () => {
    fc.assert(
      fc.property(fields, (doc) => {
        expect(publicFieldsIn(cellsOf(numberRow({ ...number, doc }, 'Acme')))).toEqual(doc)
      }),
    )
  })

  it('passes its own verifiers', () => {
    const cells = cellsOf(
      numberRow({ ...number, doc: { prepend: { enabled: true }, force_outbound: false } }, 'Acme'),
    )
    for (const [column, verify] of Object.entries(cellVerifiers)) {
      const cell = cells[column]
      if (cell) expect(verify(cell), column).toBe(true)
    }
  })

  it('sets own fields by path, but none that are not the customer’s to set', () => {
    expect(
      publicFieldsIn({ 'opaque.a.b': '1', 'opaque.a.c': '2', 'opaque.d': '3', 'opaque.x.id': '4' }),
    ).toEqual({
      a: { b: '1', c: '2' },
      d: '3',
      x: { id: '4' },
    })
    const columns = [
      'id',
      'used_by',
      '_private',
      'pvt_state',
      '__proto__.x',
      'a.__proto__.b',
      'constructor',
      '',
      'a..b',
    ]
    const cells = Object.fromEntries(columns.map((name) => [`opaque.${name}`, 'x']))
    expect(publicFieldsIn(cells)).toEqual({})
    expect(({} as { x?: string }).x).toBeUndefined()
  })
})

describe('the column error', () => {
  it.each([
    [failure(numberNotFound, { number: '+1' }), 'not_found'],
    [failure(notReconcilable, { number: 'x' }), 'not_reconcilable'],
    [failure(numberExists, { number: '+1' }), 'number +1 already exists'],
    [failure(numberForbidden, { cause: 'x' }), 'requestor is unauthorized to perform operation'],
    [failure(invalidStateTransition, { from: 'a', to: 'b' }), 'invalid state transition'],
    [failure(noChangeRequired, {}), 'no change required'],
    [failure(datastoreConflict, {}), 'datastore_conflict'],
    [failure(billingIssue, { reason: 'card', message: 'the card is refused' }), 'the card is refused'],
    [invalid({ 'cnam.display_name': { maxLength: { message: '' } } }), 'bad field(s) cnam.outbound'],
  ])('says of %o: %s', (error, text) => {
    expect(errorTextOf(error)).toBe(text)
  })
})

it('the country of a number is what the metadata say, also when its exchange was asked for before', () => {
  const national = fc.integer({ min: 2_010_000_000, max: 9_899_999_999 }).map((digits) => `+1${digits}`)
  const others = fc.constantFrom('+442079460000', '+4930123456', '+390612345678', '+882169800000', '+12')
  fc.assert(
    fc.property(fc.oneof(national, others), fc.integer({ min: 0, max: 9999 }), (first, last) => {
      const second = `${first.slice(0, -4)}${String(last).padStart(4, '0')}`
      for (const one of [first, second]) {
        expect(countryOf(one)).toBe(parsePhoneNumberFromString(one)?.country ?? '')
      }
    }),
  )
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  accountDatabase,
  databaseKindOf,
  databaseKindsOf,
  decodedDatabaseName,
  encodedDatabaseName,
} from '../../import-kazoo/documents/database-names.ts'
import {
  derivedId,
  isGone,
  isWrittenAsFraction,
  numberLiterals,
  publicPart,
  readDocument,
  timesOf,
  unknownTime,
} from '../../import-kazoo/documents/fields.ts'

const accountId = 'aabb00000000000000000000000000cc'
const accountName = 'account/aa/bb/00000000000000000000000000cc'

describe('the common fields of documents', () => {
  it('are read with the kind, which is in pvt_type', () => {
    const fields = { _id: 'u', pvt_type: 'user', name: 'A' }
    const source = { id: 'u', rev: '1-a', text: JSON.stringify(fields), fields, conflicts: [] }
    expect(readDocument(accountName, source)).toEqual({ ...source, database: accountName, type: 'user' })
    expect(readDocument(accountName, { ...source, fields: { pvt_type: 5 } }).type).toBe('')
  })

  it.each([
    [{ pvt_created: 63_800_000_000, pvt_modified: 63_800_000_009 }, 63_800_000_000, 63_800_000_009],
    [{ pvt_created: '63800000000', pvt_modified: 63_800_000_009.7 }, 63_800_000_000, 63_800_000_009],
    [{ pvt_created: 'undefined', pvt_modified: 63_800_000_009 }, 63_800_000_009, 63_800_000_009],
    [{ pvt_created: 63_800_000_000, pvt_modified: 'undefined' }, 63_800_000_000, 63_800_000_000],
    [{ pvt_created: 63_800_000_000 }, 63_800_000_000, 63_800_000_000],
    [{ pvt_created: -1, pvt_modified: null }, unknownTime, unknownTime],
    [{}, unknownTime, unknownTime],
  ])('have times: %j', (fields, created, modified) => expect(timesOf(fields)).toEqual({ created, modified }))

  it.each([
    [{ _deleted: true }, true],
    [{ pvt_deleted: true, pvt_type: 'user' }, true],
    [{ pvt_deleted: 'true', pvt_type: 'user' }, true],
    [{ pvt_deleted: false, pvt_type: 'user' }, false],
    [{ pvt_state: 'deleted', pvt_type: 'number' }, true],
    [{ pvt_number_state: 'deleted' }, true],
    [{ pvt_state: 'in_service', pvt_number_state: 'deleted' }, false],
    [{ pvt_state: 'deleted', pvt_type: 'port_request' }, false],
    [{}, false],
  ])('tell whether the document is gone: %j', (fields, gone) => expect(isGone(fields)).toBe(gone))

  it('leave what is public without the marks of the database, what is private, and what is named', () => {
    const fields = {
      _id: 'u',
      _rev: '1-a',
      _attachments: {},
      pvt_type: 'user',
      id: 'u',
      name: 'A',
      ui_metadata: { version: '4' },
      apvt_: 1,
    }
    expect(publicPart(fields, ['id'])).toEqual({ name: 'A', ui_metadata: { version: '4' }, apvt_: 1 })
  })
})

describe('numbers as they are written', () => {
  const literalOf = numberLiterals(
    '{"pvt_max":5.0,"units":5,"deep":{"list":[1e3,-0.10],"text":"5.0"},"big":9007199254740993,"pvt_max":5.00}',
  )

  it.each([
    [['pvt_max'], '5.00', true],
    [['units'], '5', false],
    [['deep', 'list', '0'], '1e3', true],
    [['deep', 'list', '1'], '-0.10', true],
    [['big'], '9007199254740993', false],
  ])('are found at %j', (path, literal, isFraction) => {
    expect(literalOf(...path)).toBe(literal)
    expect(isWrittenAsFraction(literal)).toBe(isFraction)
  })

  it('are none where the field has another type or is missing', () => {
    expect(literalOf('deep', 'text')).toBeUndefined()
    expect(literalOf('deep')).toBeUndefined()
    expect(literalOf('pvt_max', 'text')).toBeUndefined()
    expect(literalOf('nowhere', 'at', 'all')).toBeUndefined()
  })
})

describe('names of databases', () => {
  it.each([
    ['account/aa/bb/00', 'account/aa/bb/00'],
    ['account%2Faa%2Fbb%2F00', 'account/aa/bb/00'],
    ['account%252Faa%252Fbb%252F00', 'account/aa/bb/00'],
    ['numbers%2F%2B1415', 'numbers/+1415'],
    ['numbers/+1415', 'numbers/+1415'],
    ['odd%2', 'odd%2'],
  ])('are decoded: %s', (text, name) => expect(decodedDatabaseName(text)).toBe(name))

  it.each([
    [accountName, { kind: 'account', taking: 'import', accountId }],
    [`${accountName}-202502`, { kind: 'month', taking: 'import', accountId, month: '202502' }],
    [`${accountName}-202513`, { kind: 'odd', taking: 'list' }],
    [`${accountName}-2025`, { kind: 'year', taking: 'import', accountId, year: '2025' }],
    [`${accountName}-selectors`, { kind: 'selectors', taking: 'list', accountId }],
    [`${accountName}-provisioner`, { kind: 'provisioner', taking: 'list', accountId }],
    [`${accountName}-more`, { kind: 'odd', taking: 'list' }],
    [`${accountName}0`, { kind: 'odd', taking: 'list' }],
    [`x${accountName}`, { kind: 'odd', taking: 'list' }],
    ['account/AA/BB/00000000000000000000000000CC', { kind: 'odd', taking: 'list' }],
    ['numbers/+1415', { kind: 'numbers', taking: 'import', prefix: '+1415' }],
    ['numbers/41555', { kind: 'numbers', taking: 'import', prefix: '41555' }],
    ['numbers/managed', { kind: 'pool', taking: 'import', pool: 'managed' }],
    ['numbers/inum', { kind: 'pool', taking: 'import', pool: 'inum' }],
    ['numbers/+1415555', { kind: 'odd', taking: 'list' }],
    ['ratedeck', { kind: 'ratedeck', taking: 'import', ratedeckId: 'ratedeck' }],
    ['ratedeck/gold', { kind: 'ratedeck', taking: 'import', ratedeckId: 'gold' }],
    ['accounts', { kind: 'system', taking: 'import', name: 'accounts' }],
    ['sip_auth', { kind: 'system', taking: 'list', name: 'sip_auth' }],
    ['crossbar/sessions', { kind: 'system', taking: 'list', name: 'crossbar/sessions' }],
    ['system_schemas', { kind: 'system', taking: 'never', name: 'system_schemas' }],
    ['_users', { kind: 'system', taking: 'never', name: '_users' }],
    ['somebody_elses', { kind: 'odd', taking: 'list' }],
  ])('tell what is in %s', (name, kind) => expect(databaseKindOf(name)).toEqual(kind))

  it('tell the same of many at once', () => {
    const months = ['202501', '202502'].map((month) => `${accountDatabase('ab'.repeat(16))}-${month}`)
    const names = ['accounts', accountDatabase('ab'.repeat(16)), ...months, 'numbers/+1415', 'odd']
    expect([...databaseKindsOf(names)]).toEqual(names.map((name) => [name, databaseKindOf(name)]))
  })

  it('are the same again when they are encoded once or twice and decoded', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z][a-z0-9_$()+/-]{0,40}$/), (name) => {
        const once = encodedDatabaseName(name)
        expect(decodedDatabaseName(once)).toBe(name)
        expect(decodedDatabaseName(encodedDatabaseName(once))).toBe(name)
      }),
    )
  })

  it('come of the ids of accounts', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[0-9a-f]{32}$/), (id) => {
        expect(databaseKindOf(accountDatabase(id))).toEqual({
          kind: 'account',
          taking: 'import',
          accountId: id,
        })
      }),
    )
  })
})

describe('derivedId', () => {
  it('is a separate id for everything that is made of a document, the same each time', () => {
    const ids = [
      derivedId('a', 'b', 'c'),
      derivedId('a', 'bc', ''),
      derivedId('ab', '', 'c'),
      derivedId('a', 'b', 'd'),
    ]
    expect(new Set(ids).size).toBe(4)
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/)
    expect(derivedId('a', 'b', 'c')).toBe(ids[0])
  })
})

import { describe, expect, it } from 'vitest'
import {
  preservedName,
  preservedPlace,
  preservedTypes,
  preserveOrCount,
} from '../../import-kazoo/conversions/preserved.rules.ts'
import { kazooDocument } from '../support/kazoo/kazoo-documents.ts'

const database = 'account/aa/bb/cc'
const fields = { _id: 'one', pvt_created: 63_800_000_000, name: 'Menu' }

const told = (code: string, more: object) => ({ severity: 'left_out', code, database, id: 'one', ...more })

describe('a document that nothing here reads', () => {
  it.each([...preservedTypes])('is kept as it came when it is a %s', (pvt_type) => {
    const text = `{"_id":"one", "pvt_type":"${pvt_type}","pvt_created":63800000000,"cost":5.0}`
    const document = kazooDocument(database, { ...fields, pvt_type }, { text })
    expect(preserveOrCount(document, 'a')).toEqual({
      document,
      outcome: 'kept',
      drafts: [
        {
          as: 'kazoo_kept',
          accountId: 'a',
          id: `${database}|one`,
          created: 63_800_000_000,
          modified: 63_800_000_000,
          doc: {},
          facts: { type: pvt_type, text },
          files: [],
        },
      ],
      findings: [],
    })
  })

  it.each(['fax', 'sms', 'never_heard_of', ''])('is only counted when it is a %j', (pvt_type) => {
    const document = kazooDocument(database, { ...fields, pvt_type })
    expect(preserveOrCount(document, 'a')).toEqual({ document, outcome: 'skipped', drafts: [], findings: [] })
  })

  it('is skipped when it is deleted', () => {
    const document = kazooDocument(database, { ...fields, pvt_type: 'menu', pvt_deleted: true })
    expect(preserveOrCount(document, 'a')).toMatchObject({ outcome: 'skipped', drafts: [], findings: [] })
  })

  it('is listed when it is larger than a megabyte', () => {
    const document = kazooDocument(database, { ...fields, pvt_type: 'menu', text: 'x'.repeat(1_000_000) })
    const bytes = Buffer.byteLength(document.text)
    expect(preserveOrCount(document, 'a')).toMatchObject({ outcome: 'skipped', drafts: [] })
    expect(preserveOrCount(document, 'a').findings).toEqual([
      told('document_too_large', { old: `${bytes} bytes` }),
    ])
  })

  it('brings the file that it is about; larger ones, and those of others, are listed', () => {
    const _attachments = {
      'hello.wav': { content_type: 'audio/wav', length: 1_000_000, stub: true },
      'long.wav': { content_type: 'audio/wav', length: 1_000_001, stub: true },
    }
    const pvt_attachments = { 'far.wav': { handler: { kz_att_s3: {} } } }
    const media = kazooDocument(database, { ...fields, pvt_type: 'media', _attachments, pvt_attachments })
    const { drafts, findings } = preserveOrCount(media, 'a')
    const file = { role: 'hello.wav', name: 'hello.wav', contentType: 'audio/wav', length: 1_000_000 }
    expect(drafts[0]?.files).toEqual([file])
    expect(findings).toEqual([
      told('file_left', { field: 'long.wav', old: '1000001 bytes' }),
      told('file_elsewhere', { field: 'far.wav' }),
    ])
    const vmbox = kazooDocument(database, { ...fields, pvt_type: 'vmbox', _attachments })
    expect(preserveOrCount(vmbox, 'a').drafts[0]?.files).toEqual([])
  })

  it('is found at its original place, whatever its id', () => {
    const place = { accountId: 'a', database, id: 'x|y|é' }
    expect(preservedPlace('a', preservedName(place))).toEqual(place)
  })
})

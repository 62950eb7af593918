import { describe, expect, it } from 'vitest'
import {
  convertPeople,
  isOfPeople,
  orphanedCopies,
  sharedNamesIn,
} from '../../import-kazoo/conversions/people.rules.ts'
import { lostNames, type PeopleContext } from '../../import-kazoo/conversions/people-context.rules.ts'
import { accountDatabase } from '../../import-kazoo/documents/database-names.ts'
import type { Converted, Finding, KazooDocument } from '../../import-kazoo/documents/document.ts'
import { readDocument } from '../../import-kazoo/documents/fields.ts'
import type { Json } from '../../src/lib/json.ts'

const accountId = 'aabb'.padEnd(32, '0')
const ids = (digit: string) => digit.repeat(32)
const md5 = 'ab'.repeat(16)
const sha = 'cd'.repeat(20)

const documentOf = (id: string, type: string, fields: Json = {}): KazooDocument => {
  const whole = { _id: id, pvt_type: type, pvt_created: 10, pvt_modified: 20, ...fields }
  return readDocument(accountDatabase(accountId), {
    id,
    rev: '1-a',
    text: JSON.stringify(whole),
    conflicts: [],
  })
}

const user = (id: string, fields: Json = {}) =>
  documentOf(id, 'user', {
    username: `user${id[0]}`,
    first_name: 'Ann',
    last_name: 'Li',
    enabled: true,
    pvt_md5_auth: md5,
    pvt_sha1_auth: sha,
    ...fields,
  })

const device = (id: string, fields: Json = {}) =>
  documentOf(id, 'device', { name: `Phone ${id[0]}`, ...fields })

const context: PeopleContext = {
  accountId,
  realm: 'acme.example',
  lost: new Set(),
  notices: {
    voicemail: { macros: { 'user.first_name': {}, 'account.name': {} } },
    password_recovery: { macros: { link: { isSecret: true }, 'account.name': {} } },
  },
  accountSettings: new Set(['auth.password']),
  providers: new Set(),
}

const convert = (documents: readonly KazooDocument[], more: Partial<PeopleContext> = {}) =>
  new Map(convertPeople(documents, { ...context, ...more }).map((one) => [one.document.id, one]))

const only = (document: KazooDocument, more: Partial<PeopleContext> = {}): Converted => {
  const [one] = convertPeople([document], { ...context, ...more })
  if (!one) throw new Error('it is not of people')
  return one
}

const told = ({ severity: _, database: _where, ...others }: Finding) => others
const codes = ({ findings }: Converted | undefined = { findings: [] } as unknown as Converted) =>
  findings.map(({ code, field }) => (field === undefined ? code : `${code} ${field}`))

describe('a user', () => {
  it('becomes a record, with the sign-in data separated', () => {
    const document = user(ids('7'), {
      username: 'Ann',
      priv_level: 'admin',
      pvt_password_timestamp: 15,
      pvt_md5_auth: md5.toUpperCase(),
      has_avatar: true,
      features: ['x'],
      password: 'clear',
      shoe: 45,
      _attachments: { photo: { content_type: 'image/png', length: 9, revpos: 3 } },
      pvt_attachments: { 'big.png': { handler: { kz_att_s3: {} } } },
    })
    expect(only(document)).toEqual({
      document,
      outcome: 'imported',
      drafts: [
        {
          as: 'user',
          accountId,
          id: ids('7'),
          created: 10,
          modified: 20,
          doc: {
            username: 'ann',
            first_name: 'Ann',
            last_name: 'Li',
            enabled: true,
            priv_level: 'admin',
            shoe: 45,
          },
          facts: { digests: { md5, sha }, passwordChanged: 15 },
          files: [{ role: 'photo', name: 'photo', contentType: 'image/png', length: 9 }],
        },
      ],
      findings: [
        {
          severity: 'needs_hand',
          code: 'file_outside',
          database: accountDatabase(accountId),
          id: ids('7'),
          field: 'big.png',
        },
      ],
    })
  })

  it.each([
    [{ enabled: undefined }, false, ['user_not_enabled enabled']],
    [{ enabled: 'true' }, true, []],
    [{ enabled: 1 }, false, []],
    [{ enabled: false }, false, []],
  ])('signs in only where the record allows it: %j', (fields, enabled, findings) => {
    const one = only(user(ids('1'), fields))
    expect(one.drafts[0]?.doc.enabled).toBe(enabled)
    expect(codes(one)).toEqual(findings)
  })

  it.each([
    [{ pvt_sha1_auth: undefined }, { digests: { md5 } }, ['sha_digest_missing']],
    [{ pvt_md5_auth: undefined, pvt_sha1_auth: 'no digest' }, {}, ['password_missing']],
    [{ pvt_md5_auth: undefined, pvt_sha1_auth: undefined, username: undefined }, {}, []],
  ])('signs in with the digests that there are: %j', (fields, facts, findings) => {
    const one = only(user(ids('1'), fields))
    expect(one.drafts[0]?.facts).toEqual(facts)
    expect(codes(one)).toEqual(findings)
  })

  it('leaves the name and its sign-in to an older one', () => {
    const older = user(ids('2'), { username: 'Bob', pvt_created: 1, hotdesk: { id: 17, pin: '1234' } })
    const younger = user(ids('1'), { username: 'bob', pvt_created: 2, hotdesk: { id: '17', enabled: true } })
    const all = convert([younger, older])
    expect(all.get(older.id)?.drafts[0]).toMatchObject({
      doc: { username: 'bob' },
      facts: { digests: { md5, sha } },
    })
    const lost = all.get(younger.id)?.drafts[0]
    expect([lost?.doc.username, lost?.facts, lost?.doc.hotdesk]).toEqual([undefined, {}, { enabled: true }])
    expect(all.get(younger.id)?.findings.map(told)).toEqual([
      { code: 'username_taken', id: younger.id, field: 'username', old: 'bob' },
      { code: 'hotdesk_id_taken', id: younger.id, field: 'hotdesk.id', old: '17' },
    ])
  })

  it('has both names, and not too long ones', () => {
    const one = only(user(ids('1'), { first_name: undefined, last_name: 'L'.repeat(200) }))
    expect(one.drafts[0]?.doc).toMatchObject({ first_name: 'user1', last_name: 'L'.repeat(128) })
    expect(codes(one)).toEqual(['name_missing first_name', 'name_shortened last_name'])
  })

  it('is left out when deleted, and another user gets the name', () => {
    const gone = user(ids('2'), { username: 'bob', pvt_created: 1, pvt_deleted: true })
    const all = convert([gone, user(ids('1'), { username: 'bob' })])
    expect(all.get(gone.id)).toMatchObject({ outcome: 'skipped', drafts: [], findings: [] })
    expect(all.get(ids('1'))?.drafts[0]?.doc.username).toBe('bob')
  })

  it('never shows what they sign in with', () => {
    const all = convertPeople([user(ids('1')), user(ids('2'), { username: 'user1' })], context)
    const shown = JSON.stringify(all.map(({ findings, drafts }) => [findings, drafts.map(({ doc }) => doc)]))
    expect(shown).not.toContain(md5)
    expect(shown).not.toContain(sha)
  })
})

describe('a device', () => {
  it('becomes a record in the form that is stored here', () => {
    const document = device(ids('3'), {
      owner_id: ids('7'),
      mac_address: '00:11:22:AA:bb:CC',
      sip: { username: 'phone1', password: 'sip-secret', realm: 'ACME.example', method: 'password' },
      provision: { endpoint_brand: 'Yealink', combo_keys: [{ type: 'line' }, null, { type: 'none' }] },
      access_lists: { order: 'deny,allow', cidrs: ['10.0.0.0/8', '10.0.0.0/99'] },
      id: ids('3'),
    })
    const limits = documentOf('limits-1', 'rate_limits', {
      pvt_owner_type: 'devices',
      pvt_owner_id: ids('3'),
      device: { per_minute: { invites: 5 } },
    })
    const all = convert([user(ids('7')), document, limits])
    expect(all.get(document.id)).toEqual({
      document,
      outcome: 'imported',
      drafts: [
        {
          as: 'device',
          accountId,
          id: ids('3'),
          created: 10,
          modified: 20,
          doc: {
            name: 'Phone 3',
            owner_id: ids('7'),
            mac_address: '001122aabbcc',
            sip: { username: 'phone1', password: 'sip-secret', method: 'password' },
            provision: {
              endpoint_brand: 'yealink',
              combo_keys: { 0: { type: 'line' }, 2: { type: 'none' } },
            },
            access_lists: { order: 'deny,allow', cidrs: ['10.0.0.0/8'] },
            rate_limits: { per_minute: { invites: 5 } },
            kazoo_import: { rejected: { 'access_lists.cidrs.1': '10.0.0.0/99' } },
          },
          facts: {},
          files: [],
        },
      ],
      findings: expect.anything(),
    })
    expect(codes(all.get(document.id))).toEqual([
      'keys_listed provision.combo_keys',
      'cidr_invalid access_lists.cidrs',
    ])
    expect(JSON.stringify(all.get(document.id)?.findings)).not.toContain('sip-secret')
    expect(all.get('limits-1')).toMatchObject({ outcome: 'imported', drafts: [] })
  })

  it.each([
    [{ owner_id: ids('9') }, 'owner_id', 'owner_gone owner_id'],
    [{ mac_address: 'none of mine' }, 'mac_address', 'mac_address_invalid mac_address'],
  ])('loses what leads nowhere: %j', (fields, key, code) => {
    const one = only(device(ids('1'), fields))
    expect(Object.keys(one.drafts[0]?.doc ?? {})).not.toContain(key)
    expect(codes(one)).toEqual([code])
  })

  it.each([
    ['other.example', 'other.example', []],
    [['other.example', 'third.example'], 'other.example', ['sip_realm_several sip.realm']],
    ['acme.EXAMPLE', undefined, []],
    ['', undefined, []],
    // The realm that the account had there, and an older account has here.
    ['old.example', undefined, []],
  ])('keeps a realm where that is not the account’s: %j', (realm, kept, findings) => {
    const account = documentOf(accountId, 'account', { realm: 'OLD.example' })
    const phone = device(ids('1'), { sip: { realm } })
    const one = convert([account, phone]).get(phone.id)
    expect(one?.drafts[0]?.doc.sip).toEqual(kept === undefined ? {} : { realm: kept })
    expect(codes(one)).toEqual(findings)
  })

  it('is switched off where an older one is called the same, whatever the case, and keeps its own MAC address alone', () => {
    const sip = (username: string) => ({ username, password: 'sip-secret' })
    const older = device(ids('2'), { pvt_created: 1, sip: sip('Phone'), mac_address: '001122334455' })
    const younger = device(ids('1'), { enabled: true, sip: sip('pHONE'), mac_address: '00-11-22-33-44-55' })
    const all = convert([younger, older])
    expect(all.get(older.id)?.drafts[0]?.doc).toMatchObject({
      sip: sip('Phone'),
      mac_address: '001122334455',
    })
    expect(all.get(younger.id)?.drafts[0]?.doc).toEqual({
      name: 'Phone 1',
      enabled: false,
      sip: { password: 'sip-secret' },
      kazoo_import: { rejected: { mac_address: '001122334455', 'sip.username': 'pHONE' } },
    })
    expect(codes(all.get(younger.id))).toEqual([
      'mac_address_taken mac_address',
      'sip_username_taken sip.username',
    ])
  })

  it('is switched off where a device of another account is known by the same address, or is called the same under one realm', () => {
    const byAddress = device(ids('1'), { sip: { method: 'ip', ip: '192.0.2.7' } })
    const byName = device(ids('2'), { sip: { username: 'p', realm: 'shared.example' } })
    const mine = sharedNamesIn([byAddress, byName], context)
    const theirs = mine.map((name) => ({ ...name, accountId: ids('5'), created: 1 }))
    const all = convert([byAddress, byName], { lost: lostNames([...mine, ...theirs]) })
    expect(all.get(byAddress.id)?.drafts[0]?.doc).toMatchObject({ enabled: false, sip: { method: 'ip' } })
    expect(codes(all.get(byAddress.id))).toEqual(['sip_address_taken sip.ip'])
    expect(all.get(byName.id)?.drafts[0]?.doc).toMatchObject({
      enabled: false,
      sip: { realm: 'shared.example' },
    })
    expect(codes(all.get(byName.id))).toEqual(['sip_username_taken sip.username'])
    // They are the older ones.
    const younger = theirs.map((name) => ({ ...name, created: 99 }))
    const kept = convert([byAddress, byName], { lost: lostNames([...younger, ...mine]) })
    expect(kept.get(byAddress.id)?.findings).toEqual([])
  })
})

describe('packet limits', () => {
  const limits = (id: string, owner: string, fields: Json = {}) =>
    documentOf(id, 'rate_limits', { pvt_owner_id: owner, per_second: { registrations: 1 }, ...fields })

  it('are those of the document that was changed last', () => {
    const phone = device(ids('1'))
    const older = limits('b', ids('1'), { pvt_modified: 30 })
    const newer = limits('a', ids('1'), { pvt_modified: 40, per_second: { registrations: 2 } })
    const all = convert([phone, older, newer])
    expect(all.get(phone.id)?.drafts[0]?.doc.rate_limits).toEqual({ per_second: { registrations: 2 } })
    expect(all.get('b')).toMatchObject({ outcome: 'skipped', drafts: [] })
    expect(all.get('b')?.findings.map(told)).toEqual([
      { code: 'limits_twice', id: 'b', field: 'pvt_owner_id', old: 'b', new: 'a' },
    ])
  })

  it('of the account are imported as a separate record, and those without an account are left', () => {
    const own = limits('own', accountId, {
      account: { per_minute: { total_packets: 9 } },
      per_second: undefined,
    })
    expect(only(own)).toMatchObject({
      outcome: 'imported',
      drafts: [
        { as: 'packet_limits', id: accountId, doc: { account: { per_minute: { total_packets: 9 } } } },
      ],
    })
    expect(codes(only(limits('lost', ids('8'))))).toEqual(['owner_gone pvt_owner_id'])
  })
})

describe('a brand', () => {
  const brand = (fields: Json = {}) =>
    documentOf('whitelabel', 'whitelabel', {
      id: 'whitelabel',
      company_name: 'Acme',
      domain: 'Brand.example',
      ...fields,
    })
  const file = (revpos: number, content_type = 'image/png') => ({ content_type, length: 5, revpos })

  it.each([
    [{ 'brand.png': file(1) }, [['logo', 'brand.png']], []],
    [{ 'icon.png': file(1) }, [], ['file_unused icon.png']],
    [
      { 'logo-old.png': file(2), 'logo-new.png': file(10), 'icon-x.ico': file(3, 'image/x-icon') },
      [
        ['logo', 'logo-new.png'],
        ['icon', 'icon-x.ico'],
      ],
      ['file_unused logo-old.png'],
    ],
    [
      { 'welcome-a.html': file(1, 'text/html'), 'else.png': file(1) },
      [['welcome', 'welcome-a.html']],
      ['file_unused else.png'],
    ],
  ])('has the files that were put there last: %j', (_attachments, files, findings) => {
    const one = only(brand({ _attachments }))
    expect(one.drafts[0]?.files.map(({ role, name }) => [role, name])).toEqual(files)
    expect(codes(one)).toEqual(findings)
  })

  it('loses a domain that an older account has, and links that are none', () => {
    const document = brand({ nav: { help: 'javascript:alert(1)', learn_more: 'https://a.example' } })
    const mine = sharedNamesIn([document], context)
    expect(mine).toMatchObject([{ kind: 'domain', value: 'brand.example' }])
    const theirs = { ...mine[0], accountId: ids('5'), created: 1 } as (typeof mine)[number]
    const one = only(document, { lost: lostNames([...mine, theirs]) })
    expect(one.drafts).toMatchObject([{ as: 'whitelabel', id: 'whitelabel', accountId }])
    expect(one.drafts[0]?.doc).toEqual({
      company_name: 'Acme',
      nav: { learn_more: 'https://a.example' },
      kazoo_import: { rejected: { 'nav.help': 'javascript:alert(1)' } },
    })
    expect(codes(one)).toEqual(['link_invalid nav.help', 'domain_taken domain'])
  })

  it('has sender addresses, which must be confirmed again', () => {
    const sender = documentOf(ids('4'), 'whitelabel_email', {
      email: 'A@b.example',
      verified: true,
      dkim_selector: 's1',
    })
    const twice = documentOf(ids('5'), '', { email: 'a@B.example', verified: true })
    const all = convert([sender, twice])
    expect(all.get(sender.id)).toMatchObject({
      drafts: [{ as: 'whitelabel_email', doc: { email: 'A@b.example', dkim_selector: 's1' }, facts: {} }],
    })
    expect(codes(all.get(sender.id))).toEqual(['sender_unverified email'])
    expect(codes(all.get(twice.id))).toEqual(['sender_twice email'])
  })
})

describe('a notice', () => {
  const notice = (name: string, fields: Json = {}) =>
    documentOf(`notification.${name}`, 'notification', fields)

  it('becomes a version of the account’s, with the bodies that it has', () => {
    const document = notice('voicemail', {
      enabled: 'true',
      subject: 'For {{user.first_name}}',
      to: { type: 'specified', email_addresses: ['a@b.example', ''] },
      from: 'from@b.example',
      reply_to: '',
      cc: { type: 'specified', email_addresses: ['c@b.example'] },
      bcc: { type: 'specified', email_addresses: [] },
      macros: {},
      _attachments: {
        'template.text/html': { content_type: 'text/html', length: 5, revpos: 2 },
        'template.text/plain': { content_type: 'text/plain', length: 6, revpos: 2 },
      },
    })
    const one = only(document)
    expect(one.drafts).toEqual([
      {
        as: 'notification',
        accountId,
        id: 'voicemail',
        created: 10,
        modified: 20,
        doc: {
          enabled: true,
          subject: 'For {{user.first_name}}',
          to: { type: 'specified', email_addresses: ['a@b.example'] },
          from: 'from@b.example',
        },
        facts: {},
        files: [
          { role: 'html', name: 'template.text/html', contentType: 'text/html', length: 5 },
          { role: 'text', name: 'template.text/plain', contentType: 'text/plain', length: 6 },
        ],
      },
    ])
    expect(codes(one)).toEqual(['no_counterpart cc'])
  })

  it.each([
    ['Hello {% if user %}you{% endif %}', 'voicemail'],
    ['{{user.first_name|upper}}', 'voicemail'],
    ['{{unknown}}', 'voicemail'],
    ['See {{link}}', 'password_recovery'],
  ])('keeps the subject from above where its own says something else here: %s', (subject, name) => {
    const one = only(notice(name, { subject }))
    expect(one.drafts[0]?.doc).toEqual({})
    expect(codes(one)).toEqual(['template_unused subject'])
  })

  it('has no other recipient where it is for one person', () => {
    const one = only(notice('password_recovery', { to: { type: 'admins' } }))
    expect([one.drafts[0]?.doc, codes(one)]).toEqual([{}, ['recipients_unused to']])
  })

  it('is kept where the server never sends it', () => {
    expect(only(notice('fax_inbound'))).toMatchObject({ outcome: 'kept', drafts: [] })
  })
})

describe('rules of signing in', () => {
  const provider = (name: string, fields: Json = {}) =>
    documentOf(ids('6'), 'provider', {
      pvt_provider_type: 'multi_factor',
      provider_name: name,
      name: `A ${name}`,
      enabled: true,
      settings: { integration_key: 'duo-secret' },
      ...fields,
    })

  it('become those of the account, with the demand of a second factor', () => {
    const factor = { enabled: true, configuration_id: ids('6'), account_id: accountId }
    const document = documentOf('configs_crossbar.auth', 'account_config', {
      id: 'configs_crossbar.auth',
      auth_modules: {
        cb_user_auth: { enabled: true, multi_factor: factor },
        cb_api_auth: { enabled: false, multi_factor: { enabled: true } },
        cb_ip_auth: { enabled: false },
      },
    })
    const one = only(document)
    expect(one.drafts[0]).toMatchObject({ as: 'security', id: 'configs_crossbar.auth' })
    expect(one.drafts[0]?.doc).toEqual({
      auth_modules: {
        cb_user_auth: { enabled: true, multi_factor: factor },
        cb_api_auth: { enabled: false },
      },
    })
    expect(codes(one)).toEqual([
      'factor_provider_missing auth_modules.cb_user_auth.multi_factor',
      'factor_of_key auth_modules.cb_api_auth.multi_factor',
      'auth_module_unknown auth_modules.cb_ip_auth',
    ])
    expect(codes(only(document, { providers: new Set([`${accountId}/${ids('6')}`]) }))).toHaveLength(2)
  })

  it('still require a provider that is not available here, without its keys', () => {
    const duo = only(provider('duo'))
    expect(duo.drafts).toMatchObject([
      { as: 'multi_factor', id: ids('6'), doc: { name: 'A duo', provider_name: 'duo', enabled: true } },
    ])
    expect(codes(duo)).toEqual(['duo_not_available'])
    expect(JSON.stringify([duo.drafts, duo.findings])).not.toContain('duo-secret')
    expect(codes(only(provider('otp')))).toEqual([])
    expect(only(provider('yubikey'))).toMatchObject({ outcome: 'kept', drafts: [] })
  })

  it('are the restrictions of tokens, and the settings that accounts may have', () => {
    const restrictions = { _: { admin: { _: [{ rules: { '#': ['_'] } }] } } }
    expect(only(documentOf('tr', 'token_restrictions', { restrictions })).drafts).toMatchObject([
      { as: 'token_restrictions', id: accountId, doc: { restrictions } },
    ])
    expect(only(documentOf('tr', 'token_restrictions')).outcome).toBe('rejected')
    const config = documentOf('configs_auth.password', 'account_config', { should_enforce_strength: true })
    expect(only(config).drafts).toMatchObject([
      { as: 'account_config', id: 'configs_auth.password', doc: { should_enforce_strength: true } },
    ])
    expect(only(documentOf('configs_fax', 'account_config')).outcome).toBe('kept')
  })
})

describe('the apps of an account', () => {
  it('are known by their ids and their names, and to people who are there', () => {
    const apps = documentOf('apps_store', 'apps_store', {
      apps: {
        [ids('a')]: { name: 'voip', allowed_users: 'specific', users: [{ id: ids('7') }, { id: ids('0') }] },
        numbers: { allowed_users: 'admins', users: [{ id: ids('7') }] },
        odd: { allowed_users: 'whoever' },
        'no id': {},
      },
      blacklist: ['callcenter', 'callcenter', 7],
    })
    const voip = { allowed_users: 'specific', users: [{ id: ids('7') }] }
    const converted = convert([user(ids('7')), apps]).get('apps_store')
    expect(converted).toMatchObject({
      outcome: 'imported',
      drafts: [
        {
          as: 'apps_store',
          accountId,
          id: accountId,
          doc: {
            apps: {
              [ids('a')]: voip,
              voip,
              numbers: { allowed_users: 'admins', users: [] },
              odd: { allowed_users: 'all', users: [] },
            },
            uninstalled: [],
            blacklist: ['callcenter'],
            imposed: [],
          },
        },
      ],
    })
    expect(converted?.findings.map(told)).toEqual([
      { code: 'app_unreadable', field: 'apps', id: 'apps_store', old: 'no id' },
      { code: 'app_unreadable', field: 'apps', id: 'apps_store', old: '7' },
    ])
  })
})

describe('an account’s documents', () => {
  it('are those of people, and no others', () => {
    expect(isOfPeople(user(ids('1')))).toBe(true)
    expect(isOfPeople(documentOf('x', 'callflow'))).toBe(false)
    expect(isOfPeople(documentOf(accountId, 'account', { email: 'a@b.example', verified: true }))).toBe(false)
    expect(convertPeople([documentOf('x', 'callflow')], context)).toEqual([])
    expect(only(documentOf('x', 'password_reset')).outcome).toBe('skipped')
  })

  it('are converted alike in whatever order they come', () => {
    const documents = [
      user(ids('2'), { username: 'Bob', pvt_created: 1 }),
      user(ids('1'), { username: 'bob', pvt_created: 1 }),
      device(ids('3'), { mac_address: '001122334455' }),
      device(ids('4'), { mac_address: '001122334455' }),
    ]
    expect(convertPeople(documents.toReversed(), context)).toEqual(convertPeople(documents, context))
  })

  it('whose account does not exist are reported among the copies for look-ups', () => {
    const here = documentOf('a', 'device', { pvt_account_id: accountId })
    const orphan = documentOf('b', 'device', { pvt_account_id: ids('9') })
    expect(orphanedCopies([here, orphan], new Set([accountId])).map(told)).toEqual([
      { code: 'copy_orphaned', id: 'b', field: 'pvt_account_id', old: ids('9') },
    ])
  })
})

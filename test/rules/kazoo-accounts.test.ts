import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type SeenAccount, seenAccount } from '../../import-kazoo/conversions/account-tree.rules.ts'
import {
  type AccountsPlan,
  type AccountsSeen,
  convertAccount,
  planAccounts,
  treeOf,
} from '../../import-kazoo/conversions/accounts.rules.ts'
import { accountDatabase } from '../../import-kazoo/documents/database-names.ts'
import type { Finding, KazooDocument } from '../../import-kazoo/documents/document.ts'
import { readDocument } from '../../import-kazoo/documents/fields.ts'
import type { Json } from '../../src/lib/json.ts'

const idOf = (name: string) => Buffer.from(name).toString('hex').padEnd(32, '0')
const [m, r, c, d, e, x] = ['M', 'R', 'C', 'D', 'E', 'X'].map(idOf) as [
  string,
  string,
  string,
  string,
  string,
  string,
]
const goneId = idOf('gone')

let order = 0

const accountDocument = (id: string, fields: Json = {}, database = accountDatabase(id)): KazooDocument => {
  order += 1
  const whole = {
    _id: id,
    pvt_type: 'account',
    pvt_account_id: id,
    name: `Account ${id.slice(0, 8)}`,
    realm: `${id.slice(0, 8)}.sip.example`,
    pvt_tree: [m],
    pvt_created: 63_700_000_000 + order,
    pvt_modified: 63_800_000_000,
    ...fields,
  }
  return readDocument(database, {
    id,
    rev: '1-a',
    text: JSON.stringify(whole),
    fields: whole,
    conflicts: [],
  })
}

const seenOf = (documents: readonly KazooDocument[]) =>
  documents.map(seenAccount).filter((one): one is SeenAccount => one !== undefined)

/** A plan for accounts that all have a database and an equal copy, unless `more` differs. */
const planFor = (own: readonly KazooDocument[], more: Partial<AccountsSeen> = {}) => {
  const copies = own.map((document) => ({ ...document, database: 'accounts' }))
  return planAccounts({
    own: seenOf(own),
    copies: seenOf(copies),
    withDatabase: new Set(own.map(({ id }) => id)),
    masterSetting: { default: { master_account_id: m } },
    realmSuffix: undefined,
    ...more,
  })
}

const told = ({ code, id, field, old, new: now }: Finding) =>
  [code, id, field, old, now].filter((one) => one !== undefined)

const master = () => accountDocument(m, { pvt_tree: [] })
const reseller = () => accountDocument(r, { pvt_reseller: true })

describe('the master account', () => {
  it('is the account in the setting of a node, before the one in the setting for all nodes', () => {
    const masterSetting = {
      default: { master_account_id: goneId },
      'crossbar@node1': { master_account_id: m },
      zone: { master_account_id: r },
    }
    const plan = planFor([reseller(), master()], { masterSetting })
    expect(plan.masterId).toBe(m)
    expect(plan.findings).toEqual([])
  })

  it('is the oldest account without a parent where the setting names no existing account', () => {
    const younger = accountDocument(d, { pvt_tree: [], pvt_created: 63_900_000_000 })
    const documents = [younger, accountDocument(c, { pvt_created: 1 }), master()]
    const plan = planFor(documents, { masterSetting: { default: { master_account_id: goneId } } })
    expect(plan.masterId).toBe(m)
    expect(plan.accounts.get(d)?.parent).toBe(m)
    expect(plan.findings.map(told)).toEqual([
      ['master_guessed', 'accounts', 'master_account_id', goneId, m],
      ['tree_repaired', d, 'pvt_tree', '', m],
    ])
  })

  it('is the oldest of all accounts where every account has a parent', () => {
    const plan = planFor([accountDocument(c, { pvt_created: 9 }), accountDocument(d, { pvt_created: 8 })], {
      masterSetting: undefined,
    })
    expect(plan.masterId).toBe(d)
  })

  it('is missed where there is no account', () => {
    const plan = planFor([])
    expect(plan).toEqual({
      masterId: undefined,
      accounts: new Map(),
      gone: new Set(),
      findings: [{ severity: 'stop', code: 'no_master', database: 'system_config', id: 'accounts' }],
    })
  })

  it('has all rights, whatever its document contains', () => {
    const document = accountDocument(m, { pvt_tree: [], pvt_superduper_admin: 'true' })
    const { drafts } = convertAccount(document, planFor([document]))
    expect(drafts[0]?.facts).toMatchObject({
      tree: [],
      isReseller: true,
      isSuperduper: true,
      allowsNumberAdditions: true,
    })
  })
})

describe('the tree', () => {
  const treesOf = (plan: AccountsPlan) =>
    Object.fromEntries(Array.from(plan.accounts.keys(), (id) => [id, treeOf(plan, id)]))

  it('leaves out ancestors that are gone, and an account above itself', () => {
    const h = idOf('H')
    const documents = [
      master(),
      reseller(),
      accountDocument(c, { pvt_tree: [m, goneId, r] }),
      accountDocument(d, { pvt_tree: [m, r, goneId] }),
      accountDocument(h, { pvt_tree: [m, r, h] }),
      accountDocument(e, { pvt_tree: [r] }),
    ]
    const plan = planFor(documents)
    expect(treesOf(plan)).toEqual({ [m]: [], [r]: [m], [c]: [m, r], [d]: [m, r], [h]: [m, r], [e]: [m, r] })
    expect(plan.findings.map(told).sort()).toEqual(
      [
        ['tree_repaired', c, 'pvt_tree', [m, goneId, r].join(), `${m},${r}`],
        ['tree_repaired', d, 'pvt_tree', [m, r, goneId].join(), `${m},${r}`],
        ['tree_repaired', h, 'pvt_tree', [m, r, h].join(), `${m},${r}`],
        ['tree_repaired', e, 'pvt_tree', r, `${m},${r}`],
      ].sort(),
    )
  })

  it('is cut at the oldest account of a circle', () => {
    const [i, j] = [idOf('I'), idOf('J')]
    const documents = [
      accountDocument(j, { pvt_tree: [m, i], pvt_created: 20 }),
      accountDocument(i, { pvt_tree: [m, r, j], pvt_created: 10 }),
      master(),
      reseller(),
    ]
    expect(treesOf(planFor(documents))).toEqual({ [m]: [], [r]: [m], [i]: [m, r], [j]: [m, r, i] })
  })

  it('is cut at the oldest of several circles first, in whatever order the source has them', () => {
    const documents = [
      master(),
      accountDocument(c, { pvt_tree: [m, d], pvt_created: 10 }),
      accountDocument(d, { pvt_tree: [m, c], pvt_created: 20 }),
      accountDocument(e, { pvt_tree: [m, c, x], pvt_created: 30 }),
      accountDocument(x, { pvt_tree: [m, e], pvt_created: 40 }),
    ]
    const trees = { [m]: [], [c]: [m], [d]: [m, c], [e]: [m, c], [x]: [m, c, e] }
    expect(treesOf(planFor(documents))).toEqual(trees)
    expect(treesOf(planFor(documents.toReversed()))).toEqual(trees)
  })

  it('recomputes the resellers, which include operators', () => {
    const operator = accountDocument(d, { pvt_superduper_admin: true, pvt_reseller_id: m })
    const documents = [
      master(),
      reseller(),
      operator,
      accountDocument(c, { pvt_tree: [m, r], pvt_reseller_id: m }),
      accountDocument(e, { pvt_tree: [m, d, c], pvt_reseller_id: r }),
      accountDocument(x, { pvt_tree: [m, d], pvt_reseller_id: d }),
    ]
    const plan = planFor(documents)
    expect(plan.accounts.get(d)?.isReseller).toBe(true)
    expect(plan.findings.map(told)).toEqual([
      ['reseller_repaired', c, 'pvt_reseller_id', m, r],
      ['tree_repaired', e, 'pvt_tree', [m, d, c].join(), [m, r, c].join()],
    ])
  })

  it('is one tree of all accounts, whatever their documents say', () => {
    const number = fc.integer({ min: 0, max: 11 })
    const one = fc.record({
      tree: fc.array(fc.integer({ min: 0, max: 14 }), { maxLength: 6 }),
      created: fc.integer({ min: 1, max: 5 }),
      has: fc.constantFrom('both', 'own', 'copy', 'only copy'),
    })
    fc.assert(
      fc.property(fc.array(one, { minLength: 1, maxLength: 12 }), number, (all, named) => {
        const nameOf = (index: number) => idOf(`n${index}.`)
        const documents = all.map(({ tree, created }, index) =>
          accountDocument(nameOf(index), { pvt_tree: tree.map(nameOf), pvt_created: created }),
        )
        const having = (...kinds: string[]) =>
          documents.filter((_, index) => kinds.includes(all[index]?.has ?? ''))
        const plan = planAccounts({
          own: seenOf(having('both', 'own')),
          copies: seenOf(
            having('both', 'copy', 'only copy').map((document) => ({ ...document, database: 'accounts' })),
          ),
          withDatabase: new Set(having('both', 'own', 'copy').map(({ id }) => id)),
          masterSetting: { default: { master_account_id: nameOf(named) } },
          realmSuffix: 'made.example',
        })
        const ids = [...plan.accounts.keys()]
        const present = having('both', 'own', 'copy').map(({ id }) => id)
        expect(ids).toEqual(expect.arrayContaining(present))
        if (present.length === 0) return
        expect(ids.filter((id) => plan.accounts.get(id)?.parent === undefined)).toEqual([plan.masterId])
        for (const [index, id] of ids.entries()) {
          const tree = treeOf(plan, id)
          expect(new Set([...tree, id]).size).toBe(tree.length + 1)
          expect(tree[0] ?? id).toBe(plan.masterId)
          // Each account is behind all accounts above it.
          for (const above of tree) expect(ids.indexOf(above)).toBeLessThan(index)
          // An account with only a copy is here only if another account is below it.
          const isShell = plan.accounts.get(id)?.isShell === true
          expect(isShell).toBe(!present.includes(id))
          if (isShell) expect(ids.some((other) => treeOf(plan, other).includes(id))).toBe(true)
        }
        const realms = Array.from(plan.accounts.values(), ({ realm }) => realm.toLowerCase())
        expect(new Set(realms).size).toBe(realms.length)
        expect(new Set(Array.from(plan.accounts.values(), ({ nameClaim }) => nameClaim)).size).toBe(
          ids.length,
        )
      }),
    )
  })

  it('is made of many accounts in a moment', () => {
    const ids = Array.from({ length: 100_000 }, (_, index) => index.toString(16).padStart(32, '0'))
    const seen = (tree: (index: number) => string[]) =>
      ids.map(
        (id, index): SeenAccount => ({
          id,
          database: accountDatabase(id),
          isGone: false,
          created: index,
          name: id,
          realm: `${id}.example`,
          tree: tree(index),
          hasTree: true,
          isReseller: false,
          resellerId: undefined,
          isEnabled: true,
          keyMark: id,
        }),
      )
    const flat = seen((index) => (index === 0 ? [] : [ids[0] ?? '']))
    const plan = (own: SeenAccount[]) =>
      planAccounts({
        own,
        copies: own,
        withDatabase: new Set(ids),
        masterSetting: undefined,
        realmSuffix: 'made.example',
      })
    expect(plan(flat).accounts.size).toBe(ids.length)
  })
})

describe('documents of accounts that are not where they should be', () => {
  const copy = (id: string, fields: Json = {}) => accountDocument(id, fields, 'accounts')

  it('are taken from the account, and reported where the copy is missing or differs', () => {
    const documents = [master(), reseller(), accountDocument(c, { name: 'New' })]
    const copies = seenOf([
      { ...(documents[0] as KazooDocument), database: 'accounts' },
      copy(c, { name: 'Old' }),
    ])
    const plan = planFor(documents, { copies })
    expect(plan.findings.map(told)).toEqual([
      ['account_copy_missing', r],
      ['account_copy_differs', c, 'name'],
    ])
  })

  it('are taken from the copy where the database has none', () => {
    const f = copy(idOf('F'), { name: 'Only here' })
    const withDatabase = new Set([m, f.id, e])
    const plan = planFor([master()], { copies: seenOf([copy(m, { pvt_tree: [] }), f]), withDatabase })
    expect(plan.accounts.get(f.id)).toMatchObject({ parent: m, source: 'accounts', isShell: false })
    expect(convertAccount(f, plan)).toMatchObject({
      outcome: 'imported',
      drafts: [{ doc: { name: 'Only here' } }],
    })
    expect(plan.findings.map(told)).toContainEqual(['account_from_copy', f.id])
    expect(plan.findings.map(told)).toContainEqual(['account_without_document', e])
  })

  it('are left where there is only a copy, unless an account is below it: then the copy is imported and switched off', () => {
    const alone = copy(e)
    const shell = copy(d, { pvt_tree: [m], pvt_enabled: true })
    const below = accountDocument(c, { pvt_tree: [m, d] })
    const plan = planFor([master(), below], { copies: seenOf([alone, shell]) })
    expect([...plan.accounts.keys()]).toEqual([m, d, c])
    expect(convertAccount(alone, plan)).toEqual({
      document: alone,
      outcome: 'skipped',
      drafts: [],
      findings: [],
    })
    expect(convertAccount(shell, plan).drafts[0]?.facts).toMatchObject({ enabled: false, tree: [m] })
    expect(plan.findings.map(told)).toContainEqual(['account_without_database', e])
    expect(plan.findings.map(told)).toContainEqual(['account_shell', d])
  })

  it('are gone with all their months where they say so', () => {
    const deleted = accountDocument(x, { pvt_deleted: 'true' })
    const tombstone = accountDocument(d, { _deleted: true, pvt_type: undefined }, 'accounts')
    const plan = planFor([master(), deleted], { copies: seenOf([copy(x), tombstone]) })
    expect(plan.gone).toEqual(new Set([x, d]))
    expect(plan.accounts.has(x)).toBe(false)
    expect(convertAccount(deleted, plan).outcome).toBe('skipped')
  })
})

describe('an account', () => {
  it('becomes a record with its private fields separated', () => {
    const document = accountDocument(c, {
      name: 'Zoë & Søns 電話',
      pvt_tree: [m, r],
      pvt_enabled: 'false',
      enabled: true,
      is_reseller: true,
      created: 1,
      descendants_count: 7,
      pvt_wnm_allow_additions: 'true',
      pvt_api_key: 'ab'.repeat(32),
      pvt_trial_expires: 1,
      pvt_cpaas_token: 'secret-token',
      topup: { amount: 10, threshold: 5 },
      ui_metadata: { version: '4' },
      access_lists: { order: 'allow,deny', cidrs: ['10.0.0.0/8', 'nonsense', 7], user_agent: '(' },
    })
    const converted = convertAccount(document, planFor([master(), reseller(), document]))
    expect(converted).toEqual({
      document,
      outcome: 'imported',
      drafts: [
        {
          as: 'account',
          accountId: c,
          id: c,
          created: document.fields.pvt_created,
          modified: 63_800_000_000,
          doc: {
            name: 'Zoë & Søns 電話',
            realm: `${c.slice(0, 8)}.sip.example`,
            topup: { amount: 10, threshold: 5 },
            ui_metadata: { version: '4' },
            access_lists: { order: 'allow,deny', cidrs: ['10.0.0.0/8'] },
            kazoo_import: {
              rejected: {
                'access_lists.cidrs.1': 'nonsense',
                'access_lists.cidrs.2': 7,
                'access_lists.user_agent': '(',
              },
            },
          },
          facts: {
            tree: [m, r],
            isReseller: false,
            isSuperduper: false,
            allowsNumberAdditions: true,
            enabled: false,
            nameClaim: 'zoësøns電話',
            trialExpires: 1,
            apiKey: 'ab'.repeat(32),
          },
          files: [],
        },
      ],
      findings: expect.anything(),
    })
    expect(converted.findings.map(told)).toEqual([
      ['cidr_invalid', c, 'access_lists.cidrs', 'nonsense'],
      ['cidr_invalid', c, 'access_lists.cidrs', '7'],
      ['pattern_invalid', c, 'access_lists.user_agent', '('],
      ['no_counterpart', c, 'pvt_cpaas_token'],
    ])
    expect(JSON.stringify(converted.findings)).not.toContain('secret-token')
  })

  it('is no trial where it has no end of a trial, or is the master account', () => {
    const foundIn = (id: string, fields: Json) => {
      const document = accountDocument(id, fields)
      const { drafts, findings } = convertAccount(
        document,
        planFor(id === m ? [document] : [master(), document]),
      )
      return [
        drafts[0]?.facts.trialExpires,
        ...findings.filter(({ code }) => code === 'no_counterpart').map(({ field }) => field),
      ]
    }
    expect(foundIn(c, { is_trial_account: true })).toEqual([undefined, 'is_trial_account'])
    expect(foundIn(c, { is_trial_account: false })).toEqual([undefined])
    expect(foundIn(m, { pvt_tree: [], pvt_trial_expires: 63_900_000_000 })).toEqual([
      undefined,
      'pvt_trial_expires',
    ])
  })

  it('leaves its realm, name and API key to an older one that has them', () => {
    const [g, h] = [idOf('G'), idOf('H')]
    const key = 'cd'.repeat(32)
    const old = accountDocument(c, {
      realm: 'acme.sip.example',
      name: 'Acme',
      pvt_api_key: key,
      pvt_created: 5,
    })
    const young = accountDocument(g, {
      realm: 'ACME.sip.example',
      name: 'ACME!',
      pvt_api_key: key,
      pvt_created: 6,
    })
    const odd = accountDocument(h, { realm: 'not a realm', name: undefined, pvt_created: 7 })
    const plan = planFor([young, master(), old, odd], { realmSuffix: 'made.example' })
    const factsOf = (document: KazooDocument) => convertAccount(document, plan).drafts[0]
    expect(factsOf(old)).toMatchObject({
      doc: { realm: 'acme.sip.example' },
      facts: { apiKey: key, nameClaim: 'acme' },
    })
    const made = factsOf(young)
    expect(made?.doc.realm).toMatch(/^[0-9a-f]{6}\.made\.example$/)
    expect(made?.facts).toMatchObject({ nameClaim: `acme/${g}` })
    expect(made?.facts.apiKey).toBeUndefined()
    expect(factsOf(odd)?.doc).toEqual({ name: 'not a realm', realm: plan.accounts.get(h)?.realm })
    expect(plan.findings.map(told)).toEqual([
      ['realm_taken', g, 'realm', 'ACME.sip.example', made?.doc.realm],
      ['name_shared', g, 'name', 'ACME!'],
      ['api_key_taken', g, 'pvt_api_key'],
      ['realm_invalid', h, 'realm', 'not a realm', plan.accounts.get(h)?.realm],
    ])
    // The same again, whatever the order.
    const again = planFor([odd, old, young, master()], { realmSuffix: 'made.example' })
    expect(again.accounts.get(g)).toEqual(plan.accounts.get(g))
  })
})

import {
  type AccountRecord,
  type Actor,
  accountKind,
  isLimited,
  isSuperduper,
  privLevelOf,
  speaksForAccount,
} from '../../../auth/identity.ts'
import {
  accountAdmin,
  accountAdminPerson,
  accountMember,
  ancestorOnly,
  anyAdmin,
  proxyProblems,
  superduper,
} from '../../../auth/policies.ts'
import { shortListing } from '../../../http/response/listing.ts'
import { ListResponse, made, removed } from '../../../http/response/responses.ts'
import { type Call, del, get, patch, post, put, type Route } from '../../../http/route.ts'
import {
  badIdentifier,
  failure,
  forbidden,
  invalidCredentials,
  invalidMethod,
  joinProblems,
  validationError,
} from '../../../lib/failure.ts'
import { isId } from '../../../lib/ids.ts'
import { isObject, isTrue, type Json } from '../../../lib/json.ts'
import { closed, must, open, text } from '../../../lib/schema.ts'
import { creationNotice, creationWishes } from '../../../mail/notices.ts'
import type { CommittedChange } from '../../../storage/idempotency.ts'
import { accountHasDescendants } from './failures.ts'
import type { Accounts, Privileged } from './operations.ts'
import { realmPowerProblems, restrictionProblems } from './rules.ts'
import { Account, AccountRecord as AccountAnswer, AccountRow } from './schema.ts'
import { changeableDoc, childRow, createAccountViews, descendantRow } from './views.ts'

type Views = ReturnType<typeof createAccountViews>

const anAccount = '/v2/accounts/{account_id}'
const ApiKey = closed({ api_key: must(text(64, 64)) })
const AccountMove = open({ to: must(text(32, 32)) })

const sentKeys = ({ sent }: { sent: unknown }): Json => (isObject(sent) ? sent : {})

/** An empty realm is none that was given: one is made, or the account keeps what it has. */
const prepare = (data: Json): Json => {
  if (typeof data.realm !== 'string') return data
  const { realm, ...rest } = data
  const tidied = realm.replaceAll(' ', '')
  return tidied === '' ? rest : { ...rest, realm: tidied }
}

/** The names by which records and clients know whether numbers may be added. */
const namesOfAdditions = ['wnm_allow_additions', 'knm_allow_additions', 'pvt_wnm_allow_additions']

/** A client that sends back what it read sends all of the names: one that differs from the account is a change. */
const additionsIn = ({ hidden: { allowsNumberAdditions: had } }: AccountRecord, sent: Json): Privileged =>
  namesOfAdditions.some((name) => typeof sent[name] === 'boolean' && sent[name] !== had)
    ? { allowsNumberAdditions: !had }
    : {}

/** Admins of resellers and of the operator give trials to accounts below. */
const givesTrials = (actor: Actor) =>
  speaksForAccount(actor) && (actor.account.hidden.isReseller || isSuperduper(actor))

const trialIn = (call: Call<string, Json>): Pick<Privileged, 'trialExpires'> => {
  const { trial_expires: expires } = call.data
  if (!givesTrials(call.actor) || !('trial_expires' in sentKeys(call))) return {}
  return { trialExpires: typeof expires === 'number' ? expires : undefined }
}

/** Ancestors change `enabled`; the master account has none. Only the operator changes its flags, with PATCH. */
const privilegesIn = (call: Call<string, Json>, isOperator: boolean): Privileged => {
  const { account, actor, data } = call
  const sent = sentKeys(call)
  const isAbove = account.id !== actor.accountId && account.hidden.tree.length > 0
  const changesFlags = call.request.method === 'PATCH' && isOperator
  const { superduper_admin: isSuperduper } = sent
  return {
    ...(isAbove && 'enabled' in sent ? { enabled: data.enabled === true } : {}),
    ...(isAbove ? trialIn(call) : {}),
    ...(changesFlags && typeof isSuperduper === 'boolean' ? { isSuperduper } : {}),
    ...(changesFlags ? additionsIn(account, sent) : {}),
  }
}

const lendingIn = ({ account, actor, data }: Call<string, Json>): Json => {
  const { lends_bookkeepers_to: had } = account.doc
  const { lends_bookkeepers_to: wanted = had, ...rest } = data
  if (privLevelOf(actor) === 'admin') return data
  if (JSON.stringify(wanted) !== JSON.stringify(had))
    throw failure(forbidden, { cause: 'only admins may change lends_bookkeepers_to' })
  return had === undefined ? rest : { ...rest, lends_bookkeepers_to: had }
}

const createWriting = (accounts: Accounts, { shown, view }: Views) => {
  const change = async (call: Call<string, Json>) => {
    const { author, account, actor } = call
    const privileges = privilegesIn(call, accounts.isOperator(actor))
    return view(await accounts.replace(author, account, lendingIn(call), privileges), actor)
  }

  const create = async (call: Call<string, Json>, parent: AccountRecord) => {
    const { id } = sentKeys(call)
    // An ID in the body never selects a record: a foreign account ID is treated as an attack.
    if (typeof id === 'string' && isId(id) && (await accounts.find(id))) throw failure(invalidCredentials, {})
    const account = await accounts.create(call.author, parent, call.data, {
      notice: creationNotice(call.request),
      ...trialIn(call),
    })
    return made(account, await shown(account, call.actor))
  }

  const createdAgain = async ({ actor }: Pick<Call, 'actor'>, changes: readonly CommittedChange[]) => {
    const { id = '' } = changes.find(({ kind, action }) => kind === accountKind && action === 'created') ?? {}
    const account = await accounts.get(id)
    return made(account, await shown(account, actor))
  }

  const judge = async (
    { actor, data, request }: Pick<Call<string, Json>, 'actor' | 'data' | 'request'>,
    subject: { own: AccountRecord } | { parent: AccountRecord },
  ) => {
    const before = 'own' in subject ? subject.own : undefined
    return joinProblems(
      await accounts.judge(data, subject),
      realmPowerProblems(actor, data, before),
      restrictionProblems(actor, data, before),
      proxyProblems(data, { actor, before, peer: request.peerAddress }),
    )
  }

  return { change, create, createdAgain, judge }
}

export const accountRoutes = (accounts: Accounts): Route[] => {
  const views = createAccountViews(accounts)
  const { shown, view, viewWithKey, tree } = views
  const { change, create, createdAgain, judge } = createWriting(accounts, views)

  const subject = async ({ account }: { account: AccountRecord }) => ({
    revision: account.revision,
    doc: changeableDoc(account),
  })

  const ancestors = async ({ actor, account }: Call) => {
    const above = await accounts.ancestors(actor, account)
    const rows = above.map(({ id, doc: { name, realm, flags } }) => {
      return { id, name, realm, flags: flags ?? [] }
    })
    return new ListResponse(shortListing(rows))
  }

  const setReseller = async ({ author, actor, account }: Call, isReseller: boolean) =>
    view(await accounts.setReseller(author, account, isReseller), actor)

  const writing = { body: Account, answers: AccountAnswer, prepare, fails: [validationError] as const }
  const changing = {
    allow: accountMember,
    subject,
    ...writing,
    judge: (call: Call<string, Json>) => judge(call, { own: call.account }),
    run: change,
  }
  const creating = { ...writing, wishes: creationWishes, again: createdAgain }
  const listing = { resource: 'accounts', allow: accountMember, answers: AccountRow, list: true } as const
  const reselling = {
    resource: 'accounts',
    allow: superduper,
    answers: AccountAnswer,
    fails: [accountHasDescendants],
  } as const

  return [
    put('/v2/accounts', {
      summary: "Create a sub-account of the caller's account",
      allow: anyAdmin,
      ...creating,
      judge: (call) => judge(call, { parent: call.actor.account }),
      run: (call) => create(call, call.actor.account),
    }),
    get(anAccount, {
      summary: 'Read an account',
      allow: accountMember,
      query: { include_api_key: { flag: 'true adds the API key to metadata' } },
      answers: AccountAnswer,
      run({ account, actor, request }) {
        const asked = String(request.value('include_api_key')) === 'true'
        const isTold = asked && privLevelOf(actor) === 'admin' && !isLimited(actor)
        return isTold ? viewWithKey(account, actor) : view(account, actor)
      },
    }),
    put(anAccount, {
      summary: 'Create a sub-account',
      allow: accountAdmin,
      ...creating,
      judge: (call) => judge(call, { parent: call.account }),
      run: (call) => create(call, call.account),
    }),
    post(anAccount, { summary: 'Replace an account', ...changing }),
    patch(anAccount, { summary: 'Change fields of an account', ...changing }),
    del(anAccount, {
      summary: 'Delete an account that has no sub-accounts',
      allow: accountMember,
      subject,
      answers: AccountAnswer,
      fails: [accountHasDescendants, invalidMethod],
      run: async ({ author, actor, account }) => {
        const shape = await shown(account, actor)
        return removed(await accounts.remove(author, actor, account), shape)
      },
    }),
    get(`${anAccount}/children`, {
      summary: 'List direct sub-accounts',
      ...listing,
      run: ({ account }) => new ListResponse(tree(account, true, childRow)),
    }),
    get(`${anAccount}/descendants`, {
      summary: 'List all sub-accounts, at every level',
      ...listing,
      run: ({ account }) => new ListResponse(tree(account, false, descendantRow)),
    }),
    get(`${anAccount}/siblings`, {
      summary: 'List the siblings of an account, including itself',
      ...listing,
      run: async ({ actor, account }) => {
        await accounts.assertSiblingsVisible(actor, account)
        const parentId = account.hidden.tree.at(-1)
        if (!parentId) return new ListResponse(shortListing([]))
        return new ListResponse(tree(await accounts.get(parentId), true, childRow))
      },
    }),
    ...(['parents', 'tree'] as const).map((name) =>
      get(`${anAccount}/${name}`, {
        summary: 'List the parent accounts that the caller may see, top first',
        ...listing,
        run: ancestors,
      }),
    ),
    get(`${anAccount}/api_key`, {
      summary: 'Read the API key',
      resource: 'accounts',
      // The key has the rights of an unlimited admin: callers with fewer rights must not read it.
      allow: accountAdmin,
      namedKeys: 'unlimited',
      answers: ApiKey,
      run: ({ account }) => ({ api_key: accounts.apiKeyOf(account) }),
    }),
    put(`${anAccount}/api_key`, {
      summary: 'Create a new API key; the old one stops working',
      resource: 'accounts',
      allow: accountAdminPerson,
      namedKeys: 'unlimited',
      tellsOnce: true,
      wishes: { end_sessions: { flag: 'true also ends the sessions that were opened with the old API key' } },
      answers: ApiKey,
      run: async ({ author, account, request }) => {
        const endsSessions = isTrue(request.value('end_sessions'))
        return { api_key: accounts.apiKeyOf(await accounts.resetApiKey(author, account, { endsSessions })) }
      },
    }),
    post(`${anAccount}/move`, {
      summary: 'Move an account and its sub-accounts under another parent',
      resource: 'accounts',
      allow: ancestorOnly,
      body: AccountMove,
      answers: AccountAnswer,
      fails: [badIdentifier, forbidden],
      run: async ({ author, actor, account, data }) => {
        const target = await accounts.find(data.to)
        if (!target) throw failure(badIdentifier, { cause: data.to })
        await accounts.assertMayMove(actor, account, target)
        return view(await accounts.move(author, account, target), actor)
      },
    }),
    put(`${anAccount}/reseller`, {
      summary: 'Promote an account to reseller',
      ...reselling,
      run: (call) => setReseller(call, true),
    }),
    del(`${anAccount}/reseller`, {
      summary: 'Demote a reseller',
      ...reselling,
      run: (call) => setReseller(call, false),
    }),
  ]
}

import { isObject, type Json } from '../../../src/lib/json.ts'
import type { Converted, Draft, KazooDocument } from '../../documents/document.ts'
import { isGone, publicPart, textIn, timesOf } from '../../documents/fields.ts'
import { ratedeckNamed } from '../rates/decks.ts'
import { bookkeeperIn } from './bookkeeper.ts'
import { roundedItems, type Said } from './prices.ts'

const longestName = 128

/** What stands among the items of older plans and is none. */
const notItems: ReadonlySet<string> = new Set(['ui_apps', 'ratedeck', 'ratedeck_name'])

const itemsOf = (plan: Json, say: (said: Said) => void, prefix: string) => {
  const items = Object.entries(plan).filter(([category, item]) => {
    if (notItems.has(category))
      say({ severity: 'repaired', code: 'plan_item_moved', field: `${prefix}plan.${category}` })
    else if (!isObject(item))
      say({ severity: 'left_out', code: 'plan_item_invalid', field: `${prefix}plan.${category}` })
    return !notItems.has(category)
  })
  return roundedItems(Object.fromEntries(items), say)
}

/** Applications that older plans have among their items. `_all` stands for none of them. */
const applicationsIn = (plan: Json): Json => {
  const apps = isObject(plan.ui_apps) ? plan.ui_apps : {}
  const entries = Object.entries(apps).flatMap(([id, app]) => {
    if (id === '_all' || !isObject(app)) return []
    const vendor = textIn(app, 'vendor_id') ?? textIn(app, 'account_id')
    const name = textIn(app, 'name')
    return [
      [
        id,
        {
          ...(name === undefined ? {} : { name }),
          ...(vendor === undefined ? {} : { vendor_id: vendor }),
          ...(typeof app.enabled === 'boolean' ? { enabled: app.enabled } : {}),
        },
      ] as const,
    ]
  })
  return Object.fromEntries(entries)
}

/** The deck that older plans have among their items: its id is the first key, as that of an item. */
const deckIn = (plan: Json): Json => {
  const [id] = isObject(plan.ratedeck) ? Object.keys(plan.ratedeck) : []
  const [name] = isObject(plan.ratedeck_name) ? Object.keys(plan.ratedeck_name) : []
  return { ...(id === undefined ? {} : { id }), ...(name === undefined ? {} : { name }) }
}

/** What of a plan, or of overrides of plans, stays as it is but for what is written otherwise here. */
export const planPart = (fields: Json, say: (said: Said) => void, prefix = ''): Json => {
  const { plan, bookkeeper: _, bookkeepers, applications, ratedeck, ...rest } = fields
  const items = isObject(plan) ? plan : {}
  const apps = { ...applicationsIn(items), ...(isObject(applications) ? applications : {}) }
  const deck = ratedeckNamed({ ...deckIn(items), ...(isObject(ratedeck) ? ratedeck : {}) }, say)
  if (bookkeepers !== undefined)
    say({ severity: 'needs_hand', code: 'bookkeepers_left_out', field: `${prefix}bookkeepers` })
  return {
    ...rest,
    ...(isObject(plan) ? { plan: itemsOf(items, say, prefix) } : {}),
    ...(Object.keys(apps).length > 0 ? { applications: apps } : {}),
    ...(deck ? { ratedeck: deck } : {}),
    ...bookkeeperIn(fields, `${prefix}bookkeeper`, say),
  }
}

const nameOf = ({ id, fields }: KazooDocument, say: (said: Said) => void) => {
  const name = textIn(fields, 'name')
  if (name === undefined) {
    say({ severity: 'repaired', code: 'name_missing', field: 'name', new: id })
    return id.slice(0, longestName)
  }
  if (name.length <= longestName) return name
  const shorter = name.slice(0, longestName)
  say({ severity: 'repaired', code: 'name_shortened', field: 'name', old: name, new: shorter })
  return shorter
}

/** What becomes of a price list. `accountId` is that of the account in whose database it is, which sells by it. */
export const convertPlan = (document: KazooDocument, accountId: string): Converted => {
  const { database, id, fields } = document
  if (isGone(fields)) return { document, outcome: 'skipped', drafts: [], findings: [] }
  const findings: Converted['findings'][number][] = []
  const say = (said: Said) => void findings.push({ database, id, ...said })
  if (Array.isArray(fields.manual_recurring) && fields.manual_recurring.length > 0)
    say({ severity: 'needs_hand', code: 'manual_recurring_not_billed', field: 'manual_recurring' })
  const draft: Draft = {
    as: 'service_plan',
    accountId,
    id,
    ...timesOf(fields),
    doc: { plan: {}, ...planPart(publicPart(fields, ['id']), say), name: nameOf(document, say) },
    facts: {},
    files: [],
  }
  return { document, outcome: 'imported', drafts: [draft], findings }
}

import { isObject, type Json, present } from '../../../src/lib/json.ts'
import { decimalsOf, dollarsOfUnits, unitsOfDollars } from '../../../src/lib/money.ts'
import type { Converted, KazooDocument } from '../../documents/document.ts'
import { isGone, publicPart, textIn } from '../../documents/fields.ts'
import { converted, imported, type Notes, notesOf } from '../findings.ts'
import { ratedeckNamed } from '../rates/rules.ts'

const longestName = 128

/** What stands among the items of older plans and is none. */
const notItems: ReadonlySet<string> = new Set(['ui_apps', 'ratedeck', 'ratedeck_name'])

// Prices are floats there. Here they have four decimals, and whole units are reckoned with.
const moneyKeys: ReadonlySet<string> = new Set(['rate', 'flat_rate', 'activation_charge'])
const tierKeys: ReadonlySet<string> = new Set(['rates', 'flat_rates'])
const maxPriceDecimals = 4

const roundedPrice = (price: unknown, field: string, { repaired }: Notes): unknown => {
  if (typeof price !== 'number' && typeof price !== 'string') return price
  if ((decimalsOf(price) ?? 0) <= maxPriceDecimals) return price
  const rounded = dollarsOfUnits(unitsOfDollars(price))
  repaired('price_rounded', { field, old: String(price), new: String(rounded) })
  return rounded
}

const isPriceAt = (path: readonly string[]) =>
  moneyKeys.has(path.at(-1) ?? '') || tierKeys.has(path.at(-2) ?? '')

const roundedIn = (value: unknown, path: readonly string[], notes: Notes): unknown => {
  if (Array.isArray(value)) return value.map((one, index) => roundedIn(one, [...path, String(index)], notes))
  if (!isObject(value)) return isPriceAt(path) ? roundedPrice(value, path.join('.'), notes) : value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, member]) => {
      const place = [...path, key]
      if (key !== 'markup_type') return [[key, roundedIn(member, place, notes)]]
      notes.leftOut('markup_left_out', { field: place.join('.'), old: String(member) })
      return []
    }),
  )
}

const itemsOf = (plan: Json, notes: Notes, prefix: string): Json => {
  for (const [category, item] of Object.entries(plan)) {
    const field = `${prefix}plan.${category}`
    if (notItems.has(category)) notes.repaired('plan_item_moved', { field })
    else if (!isObject(item)) notes.leftOut('plan_item_invalid', { field })
  }
  const items = Object.entries(plan).filter(([category, item]) => !notItems.has(category) && isObject(item))
  return Object.fromEntries(
    items.map(([category, item]) => [category, roundedIn(item, ['plan', category], notes)]),
  )
}

/** Applications that older plans have among their items. `_all` stands for none of them. */
const applicationsIn = ({ ui_apps: apps }: Json): Json =>
  Object.fromEntries(
    Object.entries(isObject(apps) ? apps : {}).flatMap(([id, app]) => {
      if (id === '_all' || !isObject(app)) return []
      const vendor = textIn(app, 'vendor_id') ?? textIn(app, 'account_id')
      const enabled = typeof app.enabled === 'boolean' ? app.enabled : undefined
      return [[id, present({ name: textIn(app, 'name'), vendor_id: vendor, enabled })]]
    }),
  )

const firstKeyOf = (value: unknown) => (isObject(value) ? Object.keys(value)[0] : undefined)

/** The deck among items of a plan, or older counts: its id and its name are the first keys, as those of items. */
export const deckAmongItems = ({ ratedeck, ratedeck_name: name }: Json): Json =>
  present({ id: firstKeyOf(ratedeck), name: firstKeyOf(name) })

/**
 * Who keeps books, as far as there is such a bookkeeper here. Those that charge have to be set up, and chosen, anew:
 * until then nobody is charged by them.
 */
export const bookkeeperIn = ({ bookkeeper }: Json, field: string, { needsHand }: Notes): Json => {
  if (!isObject(bookkeeper) || Object.keys(bookkeeper).length === 0) return {}
  const type = textIn(bookkeeper, 'type') ?? 'default'
  if (type !== 'default') {
    needsHand('bookkeeper_unknown', { field, old: type, new: 'default' })
    return {}
  }
  const id = textIn(bookkeeper, 'id')
  return id === undefined ? {} : { bookkeeper: { id, type } }
}

/** What of a plan, or of overrides of plans, stays as it is but for what is written otherwise here. */
export const planPart = (fields: Json, notes: Notes, prefix = ''): Json => {
  const { plan, bookkeeper: _, bookkeepers, applications, ratedeck, ...rest } = fields
  const items = isObject(plan) ? plan : {}
  const apps = { ...applicationsIn(items), ...(isObject(applications) ? applications : {}) }
  const deck = ratedeckNamed({ ...deckAmongItems(items), ...(isObject(ratedeck) ? ratedeck : {}) }, notes)
  if (bookkeepers !== undefined) notes.needsHand('bookkeepers_left_out', { field: `${prefix}bookkeepers` })
  return {
    ...rest,
    ...(isObject(plan) ? { plan: itemsOf(items, notes, prefix) } : {}),
    ...(Object.keys(apps).length > 0 ? { applications: apps } : {}),
    ...(deck ? { ratedeck: deck } : {}),
    ...bookkeeperIn(fields, `${prefix}bookkeeper`, notes),
  }
}

const nameOf = ({ id, fields }: KazooDocument, { repaired }: Notes) => {
  const stored = textIn(fields, 'name')
  const name = (stored ?? id).slice(0, longestName)
  if (stored === undefined) repaired('name_missing', { field: 'name', new: id })
  else if (name !== stored) repaired('name_shortened', { field: 'name', old: stored, new: name })
  return name
}

/** What becomes of a price list. `accountId` is that of the account in whose database it is, which sells by it. */
export const convertPlan = (document: KazooDocument, accountId: string): Converted => {
  const { fields } = document
  if (isGone(fields)) return converted(document, 'skipped')
  const notes = notesOf(document)
  if (Array.isArray(fields.manual_recurring) && fields.manual_recurring.length > 0)
    notes.needsHand('manual_recurring_not_billed', { field: 'manual_recurring' })
  const part = planPart(publicPart(fields, ['id']), notes)
  const doc = { plan: {}, ...part, name: nameOf(document, notes) }
  return imported(document, 'service_plan', accountId, { doc, findings: notes.findings })
}

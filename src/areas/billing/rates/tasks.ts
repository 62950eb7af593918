import { isSuperduper } from '../../../auth/identity.ts'
import { rateKeeper } from '../../../auth/policies.ts'
import { ChangeSet, systemScope } from '../../../storage/change-set.ts'
import type {
  InputAction,
  OutputAction,
  RowResult,
  TaskAction,
  TaskContext,
} from '../../work/tasks/operations.ts'
import type { RateStored, Rates } from './operations.ts'
import { cellVerifiers, fieldsIn, hasFields, type RateFields, rateCsvRow, rateIdentity } from './rules.ts'
import { type Rate, rateColumns } from './schema.ts'

const rowsOfAPart = 500

const mandatoryOfImport = ['prefix', 'rate_cost']
const others = (mandatory: readonly string[]) => rateColumns.filter((column) => !mandatory.includes(column))

/** The reseller whose rates a task may change; undefined: all rates. */
const rateOwner = ({ actor, account }: TaskContext) => (isSuperduper(actor) ? undefined : account.id)

/** Adds the owner to the fields of a row; undefined if they name another account. */
const ownFields = (fields: Partial<Rate>, owner: string | undefined): Partial<Rate> | undefined => {
  if (owner === undefined) return fields
  const { account_id: named = owner } = fields
  return named === owner ? { ...fields, account_id: owner } : undefined
}

const foreign: RowResult<never> = { outcome: 'failed', error: 'bad field(s) account_id' }

// Rates contain carrier prices, so only these roles may read them.
const definition = { category: 'rates', allow: rateKeeper, readers: rateKeeper, ofSystem: true } as const

interface Imported {
  rate: RateStored
}

/** What a row does to a rate, for a dry run. */
const rateChange = (before: RateStored | undefined, rate: RateStored) => ({
  change: before === undefined ? 'added' : rate === before ? 'unchanged' : 'changed',
  previous_rate_cost: before?.doc.rate_cost,
})

const createImport = (rates: Rates): InputAction<Imported> => ({
  ...definition,
  action: 'import',
  input: 'csv',
  description: 'Bulk-import rates to a ratedeck',
  doc: [
    'Creates rates, or changes those that are there: rows that agree in ratedeck, prefix, direction, country, name,',
    'carrier, reseller, caller numbers, options and routes are one rate. Name, weight and routes are made when absent.',
  ].join('\n'),
  mandatory: mandatoryOfImport,
  optional: others(mandatoryOfImport),
  verifiers: cellVerifiers,
  output: 'input',
  dryRunColumns: ['change', 'previous_rate_cost'],
  key: (cells) => rateIdentity(fieldsIn(cells) as RateFields),

  async run(rows, context) {
    const owner = rateOwner(context)
    const deck = await rates.deckOr(undefined)
    const wanted = rows.map(
      ({ cells }) => ownFields({ ratedeck_id: deck, ...fieldsIn(cells) }, owner) as RateFields | undefined,
    )
    const known = await rates.byIdentity(wanted.filter((fields) => fields !== undefined))
    return rows.map(({ earlier }, index): RowResult<Imported> => {
      const fields = wanted[index]
      if (!fields) return foreign
      const set = new ChangeSet(context.author)
      const before = earlier?.rate ?? known.get(fields)
      const rate = before
        ? rates.mergeWith(set, before, fields)
        : rates.addWith(set, fields, known.freeId(fields))
      known.put(fields, rate)
      return {
        outcome: 'done',
        state: { rate },
        ...(context.dryRun ? { output: [rateChange(before, rate)] } : {}),
        ...(rate === before ? {} : { changes: set }),
      }
    })
  },
})

interface Deleted {
  ids: readonly string[]
}

const createDelete = (rates: Rates): InputAction<Deleted> => ({
  ...definition,
  action: 'delete',
  input: 'csv',
  description: 'Bulk-delete rates',
  doc: 'Deletes the rates of a prefix that have all values of the row. A row that fits no rate is done.',
  mandatory: ['prefix'],
  optional: others(['prefix']),
  verifiers: cellVerifiers,
  output: 'input',
  key: ({ ratedeck_id: deck, prefix }) => `${deck ?? ''}/${prefix ?? ''}`,

  async run(rows, context) {
    const owner = rateOwner(context)
    const standard = await rates.deckOr(undefined)
    const wanted = rows.map(({ cells }) => ownFields({ ratedeck_id: standard, ...fieldsIn(cells) }, owner))
    const stored = await rates.ofPrefixes(wanted.filter((fields) => fields !== undefined))
    const gone = new Set<string>()
    return rows.map(({ earlier }, index): RowResult<Deleted> => {
      const fields = wanted[index]
      if (!fields) return foreign
      const before = earlier?.ids ?? []
      const found = stored(fields).filter(
        ({ id, doc }) => hasFields(doc, fields) && !gone.has(id) && !before.includes(id),
      )
      const set = new ChangeSet(context.author)
      for (const rate of found) {
        rates.removeWith(set, rate)
        gone.add(rate.id)
      }
      const state = { ids: [...before, ...found.map(({ id }) => id)] }
      return { outcome: 'done', state, ...(found.length > 0 ? { changes: set } : {}) }
    })
  },
})

const positionOf = ({ sortKey, id }: RateStored) => JSON.stringify([sortKey, id])
const cursorIn = (position: string): [string, string] => JSON.parse(position)

const createExport = ({ page, deckOr }: Rates): OutputAction => ({
  ...definition,
  action: 'export',
  input: 'none',
  description: 'Export the default ratedeck',
  doc: 'Writes every rate of the default ratedeck, with the columns that an import takes.',
  columns: rateColumns,

  async *parts(context, position) {
    const owner = rateOwner(context)
    const ownerId = await deckOr(undefined)
    let after = position === undefined ? undefined : cursorIn(position)
    for (;;) {
      const query = { accountId: systemScope, ownerId, limit: rowsOfAPart, descending: false, long: true }
      const rates = await page(after ? { ...query, after } : query)
      const last = rates.at(-1)
      if (!last) return
      const shown = rates.filter(({ doc }) => owner === undefined || doc.account_id === owner)
      after = [last.sortKey, last.id]
      yield { rows: shown.map(({ doc }) => rateCsvRow(doc)), position: positionOf(last) }
      if (rates.length < rowsOfAPart) return
    }
  },
})

export const createRateTasks = (rates: Rates): TaskAction[] => [
  createExport(rates),
  createImport(rates),
  createDelete(rates),
]

import { isSuperduper, speaksForAccount } from '../../../../auth/identity.ts'
import { accountMember } from '../../../../auth/policies.ts'
import { elementAt, pagesOf } from '../../../../lib/list.ts'
import type { OutputAction, OutputPart, TaskAction, TaskContext } from '../../../work/tasks/operations.ts'
import type { NumberRecord } from '../operations.ts'
import type { NumberState } from '../rules.ts'
import { numberStates } from '../schema.ts'
import { createNumberInputActions, type NumberTaskDeps } from './input.ts'
import { numberColumns, numberRow } from './rules.ts'

const rowsOfAPart = 500

type Pages = (context: TaskContext, position: string | undefined) => AsyncIterable<NumberRecord[]>

/** The place in the list: only lists of a tree need the account. */
const positionOf = ({ id, accountId }: NumberRecord) => `${accountId}/${id}`
const numberAtPosition = (position: string) => position.slice(position.indexOf('/') + 1)
const ownerIn = (position: string) => position.slice(0, position.indexOf('/'))

const dumps: readonly (NumberState | undefined)[] = [undefined, ...numberStates]

const createNumberOutputActions = ({ numbers, findAccount, repair }: NumberTaskDeps): OutputAction[] => {
  const { store } = numbers

  const namesOf = async (page: readonly NumberRecord[]) => {
    const ids = [...new Set(page.map(({ accountId }) => accountId))].filter(Boolean)
    return new Map(await Promise.all(ids.map(async (id) => [id, (await findAccount(id))?.doc.name] as const)))
  }

  const partOf = async (page: readonly NumberRecord[]): Promise<OutputPart> => {
    const names = await namesOf(page)
    return {
      rows: page.map((number) => numberRow(number, names.get(number.accountId))),
      position: positionOf(elementAt(page, -1)),
    }
  }

  const action = (name: string, description: string, doc: string, pages: Pages): OutputAction => ({
    category: 'number_management',
    action: name,
    allow: accountMember,
    input: 'none',
    description,
    doc,
    columns: numberColumns,
    async *parts(context, position) {
      for await (const page of pages(context, position)) yield await partOf(page)
    },
  })

  const own: Pages = ({ account }, position) =>
    pagesOf<NumberRecord>(rowsOfAPart, (last) => {
      const after = last?.id ?? (position && numberAtPosition(position))
      return store.page({ accountId: account.id, after, limit: rowsOfAPart, descending: false, long: true })
    })

  const ofTree: Pages = (context, position) => {
    const { account, actor } = context
    if (!speaksForAccount(actor)) return own(context, position)
    return pagesOf<NumberRecord>(rowsOfAPart, (last) => {
      const place = position ? { accountId: ownerIn(position), id: numberAtPosition(position) } : undefined
      return store.pageOfTree(account.id, last ?? place, rowsOfAPart)
    })
  }

  const ofSystem = (state: NumberState | undefined): Pages =>
    async function* ({ actor }, position) {
      if (!isSuperduper(actor)) return
      const start = position ? numberAtPosition(position) : ''
      yield* pagesOf<NumberRecord>(rowsOfAPart, (last) =>
        store.pageOfSystem(state, last?.id ?? start, rowsOfAPart),
      )
    }

  const repaired: Pages = async function* (context, position) {
    if (position === undefined && !context.dryRun) await repair(context.author, context.account)
    yield* own(context, position)
  }

  return [
    action('list', 'List the numbers of an account', 'Numbers that are assigned to the account.', own),
    action(
      'list_all',
      'List the numbers of an account and its sub-accounts',
      'Those of the account come first.',
      ofTree,
    ),
    ...dumps.map((state) =>
      action(
        state ? `dump_${state}` : 'dump',
        state ? `List all numbers of the system in state ${state}` : 'List all numbers of the system',
        'For operators only. For others, the list is empty.',
        ofSystem(state),
      ),
    ),
    action(
      'sync',
      'Repair the stored data of numbers, then list them',
      'As POST phone_numbers/fix, with a list.',
      repaired,
    ),
  ]
}

/** The category `number_management`. */
export const createNumberTasks = (deps: NumberTaskDeps): TaskAction[] => [
  ...createNumberOutputActions(deps),
  ...createNumberInputActions(deps),
]

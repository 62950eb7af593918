import { assignPlan, quoteServices, unassignPlan, updateServiceOverrides } from '@crosspoint/client'
import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { showMoney } from '../../lib/amounts.ts'
import { useAnswer, useChange } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import type { JsonObject } from '../../lib/json.ts'
import { tellDone } from '../../lib/toasts.tsx'
import { Loading } from '../../parts/screen.tsx'
import { type AssignedPlan, monthlyOf } from './assigned.ts'
import { InvoiceTable } from './invoice-table.tsx'

/** The overrides of an account with what was typed. */
export interface TypedOverrides {
  whole: JsonObject
  /** As PATCH takes them. */
  changes: JsonObject
}

/** The planned change of one or all plans, and the resulting plans. */
export type Wanted = {
  after: readonly AssignedPlan[]
} & (
  | { doing: 'assign' | 'unassign' | 'override'; plan: AssignedPlan; name: string }
  | { doing: 'overrideAll'; typed: TypedOverrides }
)

const words = {
  assign: { title: 'money.assignTitle', action: 'money.assign', done: 'money.assigned' },
  unassign: { title: 'money.unassignTitle', action: 'money.unassign', done: 'money.unassigned' },
  override: { title: 'money.overrideTitle', action: 'money.override', done: 'money.overridden' },
  overrideAll: {
    title: 'money.accountOverrides.change',
    action: 'money.override',
    done: 'money.accountOverrides.done',
  },
} as const

const useDoing = (onDone: () => void) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  return useChange({
    touches: ['services', 'ledger'],
    run: (wanted: Wanted): Promise<unknown> => {
      if (wanted.doing === 'overrideAll') {
        const path = { account_id: accountId }
        return updateServiceOverrides({ ...api, path, body: { data: wanted.typed.changes } })
      }
      const { id, overrides = {} } = wanted.plan
      const path = { account_id: accountId, plan_id: id }
      if (wanted.doing === 'unassign') return unassignPlan({ ...api, path })
      return assignPlan({ ...api, path, body: { data: { overrides } } })
    },
    done: (_, { doing }) => {
      tellDone(t(words[doing].done))
      onDone()
    },
  })
}

/** The monthly price before the change is made. */
export const QuoteDialog = ({
  wanted,
  monthly,
  onDone,
  onClose,
}: {
  wanted: Wanted
  /** Dollars each month as things are. */
  monthly: number
  onDone: () => void
  onClose: () => void
}) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const data = {
    add: wanted.after.map((plan) => ({ ...plan })),
    ...(wanted.doing === 'overrideAll' ? { overrides: wanted.typed.whole } : {}),
  }
  const quote = useAnswer(['services', accountId, 'quote', data], (signal) =>
    quoteServices({ ...api, path: { account_id: accountId }, body: { data }, signal }),
  )
  const doing = useDoing(onDone)
  const invoices = quote.data?.data.invoices ?? []
  const { title, action } = words[wanted.doing]
  return (
    <Modal
      opened
      onClose={onClose}
      size="xl"
      title={t(title, wanted.doing === 'overrideAll' ? {} : { name: wanted.name })}
      closeButtonProps={{ 'aria-label': t('close') }}
    >
      <Stack>
        {quote.error ? <FailureNote error={quote.error} again={quote.refetch} /> : null}
        {!quote.data && !quote.error && <Loading />}
        {quote.data && (
          <>
            <Text>
              {t('money.fromTo', { before: showMoney(monthly), after: showMoney(monthlyOf(invoices)) })}
            </Text>
            {invoices.length === 0 && <Text>{t('money.nothingPriced')}</Text>}
            {invoices.map((invoice, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a quote never changes
              <InvoiceTable key={index} invoice={invoice} />
            ))}
            <Text size="sm" c="dimmed">
              {t('money.nextBill')}
            </Text>
          </>
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t('cancel')}
          </Button>
          <Button
            color={wanted.doing === 'unassign' ? 'red' : undefined}
            disabled={!quote.data}
            loading={doing.isPending}
            onClick={() => doing.mutate(wanted)}
          >
            {t(action)}
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}

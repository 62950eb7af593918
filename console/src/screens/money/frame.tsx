import { Button, Group } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Link, useLocation } from 'wouter'
import { type Place, usePlace, useTo } from '../../frame/place.tsx'
import { Screen } from '../../parts/screen.tsx'

interface Part {
  id: string
  path: string
  isShown?: (place: Place) => boolean
}

const parts: readonly Part[] = [
  { id: 'overview', path: 'money' },
  { id: 'ledgers', path: 'money/ledgers/services' },
  { id: 'transactions', path: 'money/transactions' },
  { id: 'invoices', path: 'money/invoices' },
  { id: 'plans', path: 'money/plans' },
  { id: 'cards', path: 'money/cards' },
  {
    id: 'servicePlans',
    path: 'money/service-plans',
    isShown: ({ isReseller, isMaster }) => isReseller || isMaster,
  },
]

// The source of a ledger, or the ID of an invoice.
const rootOf = (path: string) => path.split('/').slice(0, 2).join('/')

const Parts = () => {
  const { t } = useTranslation()
  const place = usePlace()
  const to = useTo()
  const [location] = useLocation()
  const isBelow = (path: string) => location.startsWith(to(rootOf(path)))
  const isHere = (path: string) =>
    path === 'money'
      ? location === to(path)
      : isBelow(path) || (path === 'money/plans' && isBelow('money/overrides'))
  return (
    <nav aria-label={t('money.parts')}>
      <Group gap={4}>
        {parts
          .filter(({ isShown }) => isShown?.(place) ?? true)
          .map(({ id, path }) => (
            <Button
              key={id}
              component={Link}
              href={to(path)}
              size="compact-sm"
              variant={isHere(path) ? 'filled' : 'default'}
              aria-current={isHere(path) ? 'page' : undefined}
            >
              {t(`money.part.${id}`)}
            </Button>
          ))}
      </Group>
    </nav>
  )
}

/** A screen about money, with the way to the others. */
export const MoneyScreen = ({
  title,
  actions,
  children,
}: {
  title: string
  actions?: ReactNode
  children: ReactNode
}) => (
  <Screen title={title} actions={actions}>
    <Parts />
    {children}
  </Screen>
)

import { Text } from '@mantine/core'
import { showMoney } from '../../lib/amounts.ts'

/** An amount of money: negative amounts are red and have a sign. */
export const Amount = ({ amount, currency }: { amount: number; currency?: string }) => (
  <Text
    component="span"
    size="sm"
    style={{
      fontVariantNumeric: 'tabular-nums',
      color: amount < 0 ? 'light-dark(var(--mantine-color-red-9), var(--mantine-color-red-3))' : undefined,
    }}
  >
    {showMoney(amount, currency)}
  </Text>
)

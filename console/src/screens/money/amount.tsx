import { Text } from '@mantine/core'
import { showMoney } from '../../lib/amounts.ts'

/** Money that came or went: what went is red, and has its sign for who sees no red. */
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

import { NumberInput, type NumberInputProps } from '@mantine/core'
import { moneySigns } from '../../lib/amounts.ts'

/** A field for an amount, to a hundredth of a cent. */
export const AmountField = (props: NumberInputProps) => (
  <NumberInput {...moneySigns()} decimalScale={4} hideControls w="9rem" {...props} />
)

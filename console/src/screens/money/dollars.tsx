import { NumberInput, type NumberInputProps } from '@mantine/core'

/** A field for an amount, to a hundredth of a cent. */
export const Dollars = (props: NumberInputProps) => (
  <NumberInput prefix="$" decimalScale={4} hideControls w="9rem" {...props} />
)

import { anyObject, anyText, list, must, open, typed } from '../../../../lib/schema.ts'
import { type SheetCell, sheetFor } from './columns.ts'

const schemaOf = ({ holds, about, isFilled }: SheetCell) => {
  if (holds === 'list') return list(typed(['string', 'object', 'array', 'number', 'boolean']))
  if (holds === 'integer') return typed(['integer', 'string'], { description: `${about}; "" when unknown` })
  const text = anyText(about ? { description: about } : {})
  return isFilled ? must(text) : text
}

/** A row of a list: the columns of CSV files, and the fields of the record that have other names. */
export const CdrListRow = open(
  {
    ...Object.fromEntries(sheetFor(true).map((cell) => [cell.name, schemaOf(cell)])),
    custom_channel_vars: anyObject(),
  },
  { title: 'Call detail record row' },
)

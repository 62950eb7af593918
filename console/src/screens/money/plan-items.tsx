import { Button, Fieldset, Group, NumberInput, Stack, Switch, Text } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { moneySigns, numberIn, showMoney, showNumber } from '../../lib/amounts.ts'
import { isObject, type Json, type JsonObject, valueAt, withChanges } from '../../lib/json.ts'
import { type Schema, schemaAt, valuesIn } from '../../lib/schemas.ts'
import type { OwnField } from '../../parts/fields.tsx'
import { AddItem, allItems } from './add-item.tsx'

interface Item {
  category: string
  item: string
  prices: JsonObject
}

const itemsIn = (plan: Json | undefined): readonly Item[] =>
  Object.entries(isObject(plan) ? plan : {}).flatMap(([category, items]) =>
    Object.entries(isObject(items) ? items : {}).map(([item, prices]) => ({
      category,
      item,
      prices: isObject(prices) ? prices : {},
    })),
  )

const isSame = (one: Item, other: Item) => one.category === other.category && one.item === other.item

const findSame = (items: readonly Item[], wanted: Item) => items.find((one) => isSame(one, wanted))

/** Those of the plan, each with what holds in its place, and those that the plan does not price. */
const itemsOver = (sold: readonly Item[], own: readonly Item[]): readonly Item[] => [
  ...sold.map((one) => findSame(own, one) ?? { ...one, prices: {} }),
  ...own.filter((one) => !findSame(sold, one)),
]

const planFrom = (items: readonly Item[]): JsonObject => {
  const plan: Record<string, Record<string, Json>> = {}
  for (const { category, item, prices } of items) plan[category] = { ...plan[category], [item]: prices }
  return plan
}

const moneyFields = ['rate', 'flat_rate', 'activation_charge'] as const
const countFields = ['minimum', 'maximum', 'step'] as const
const discountFields = [
  'discounts.single.rate',
  'discounts.cumulative.rate',
  'discounts.cumulative.maximum',
] as const
const switches = ['cascade', 'prorate.additions', 'prorate.removals'] as const

const changeAt = (path: string, value: Json): JsonObject =>
  path.split('.').reduceRight<Json>((inner, key) => ({ [key]: inner }), value) as JsonObject

const isMoneyAt = (path: string) => !/minimum|maximum|step/.test(path)

const PriceInput = ({
  label,
  isMoney,
  value,
  sold,
  bounds: { minimum = 0, maximum = Number.POSITIVE_INFINITY },
  onValue,
}: {
  label: string
  isMoney: boolean
  value: number | undefined
  bounds: Schema
  /** The inherited value. */
  sold: number | undefined
  onValue: (value: number | undefined) => void
}) => {
  const { t } = useTranslation()
  // What is typed may be on its way: `4.` becomes 4.5.
  const [typed, setTyped] = useState<number | string>(value ?? '')
  const shown = isMoney ? showMoney : showNumber
  const isWithin = value === undefined || (value >= minimum && value <= maximum)
  return (
    <NumberInput
      label={label}
      error={isWithin ? undefined : t('money.price.bounds', { least: shown(minimum), most: shown(maximum) })}
      {...(isMoney ? { ...moneySigns(), decimalScale: 4 } : { allowDecimal: false })}
      {...(sold === undefined ? {} : { placeholder: shown(sold) })}
      allowNegative={false}
      hideControls
      w="11rem"
      value={numberIn(typed) === value ? typed : (value ?? '')}
      onChange={(given) => {
        setTyped(given)
        onValue(numberIn(given))
      }}
    />
  )
}

const numberAtPath = (prices: JsonObject | undefined, path: string) => {
  const value = valueAt(prices, path)
  return typeof value === 'number' ? value : undefined
}

const PriceFields = ({
  item: { prices },
  sold,
  schema,
  onChange,
}: {
  item: Item
  /** The prices of an item. */
  schema: Schema
  /** The plan's prices of the item, which overrides replace. */
  sold: JsonObject | undefined
  onChange: (prices: JsonObject) => void
}) => {
  const { t } = useTranslation()
  const put = (path: string, value: Json) => onChange(withChanges(prices, changeAt(path, value)))
  const isOnAlready = (path: string) => valueAt(sold, path) === true
  const numbers = [...moneyFields, ...discountFields, ...countFields]
  return (
    <Stack gap="xs">
      <Group gap="sm" align="end">
        {numbers.map((path) => (
          <PriceInput
            key={path}
            label={t(`money.price.${path.replaceAll('.', '_')}`)}
            isMoney={isMoneyAt(path)}
            value={numberAtPath(prices, path)}
            sold={numberAtPath(sold, path)}
            bounds={schemaAt(schema, path) ?? {}}
            onValue={(given) => put(path, given ?? null)}
          />
        ))}
      </Group>
      <Group gap="lg">
        {switches.map((path) => (
          <Switch
            key={path}
            label={t(`money.price.${path.replaceAll('.', '_')}`)}
            checked={(valueAt(prices, path) ?? isOnAlready(path)) === true}
            onChange={({ currentTarget: { checked } }) =>
              put(path, sold !== undefined && checked === isOnAlready(path) ? null : checked)
            }
          />
        ))}
      </Group>
    </Stack>
  )
}

const ItemBox = ({ name, action, children }: { name: string; action: ReactNode; children: ReactNode }) => (
  <Fieldset legend={name}>
    <Stack gap="sm">
      {children}
      <Group justify="flex-end">{action}</Group>
    </Stack>
  </Fieldset>
)

/** The prices of each item. With the plan's prices as `sold`: the overrides. */
export const PriceList = ({
  value,
  sold,
  schema,
  error,
  onChange,
}: {
  value: Json | undefined
  sold?: Json
  /** The prices of a whole plan. */
  schema: Schema
  error?: ReactNode
  onChange: (plan: JsonObject) => void
}) => {
  const { t } = useTranslation()
  const itemSchema = valuesIn(valuesIn(schemaAt(schema, 'plan') ?? {}))
  const soldItems = itemsIn(sold)
  const items = itemsOver(soldItems, itemsIn(value))
  const write = (next: readonly Item[]) =>
    onChange(planFrom(next.filter((one) => !findSame(soldItems, one) || Object.keys(one.prices).length > 0)))
  return (
    <Stack style={{ gridColumn: '1 / -1' }}>
      {items.length === 0 && <Text size="sm">{t('money.noItems')}</Text>}
      {items.map((one) => {
        const name = `${one.category} / ${one.item}`
        const ofPlan = findSame(soldItems, one)
        const change = (prices: JsonObject) =>
          write(items.map((other) => (isSame(other, one) ? { ...other, prices } : other)))
        const isAsSold = ofPlan !== undefined && Object.keys(one.prices).length === 0
        return (
          <ItemBox
            key={name}
            name={name}
            action={
              <Button
                size="compact-sm"
                variant="default"
                aria-label={t(ofPlan ? 'money.asInPlanNamed' : 'money.removeItemNamed', { name })}
                disabled={isAsSold}
                onClick={() => write(items.filter((other) => !isSame(other, one)))}
              >
                {t(ofPlan ? 'money.asInPlan' : 'money.removeItem')}
              </Button>
            }
          >
            <PriceFields item={one} sold={ofPlan?.prices} schema={itemSchema} onChange={change} />
          </ItemBox>
        )
      })}
      <AddItem
        action={t('money.addItem')}
        help={t('money.itemHelp')}
        first={allItems}
        onAdd={(category, item) => {
          const added = { category, item, prices: {} }
          if (!findSame(items, added)) write([...items, added])
        }}
      />
      {error && (
        <Text size="sm" c="red" role="alert">
          {error}
        </Text>
      )}
    </Stack>
  )
}

/** The prices of a plan. Everything else of it can be written as JSON. */
export const PlanItems: OwnField = ({ form, path, schema }) => {
  const { value, onChange, error } = form.getInputProps(path)
  return <PriceList value={value} schema={schema} error={error} onChange={onChange} />
}

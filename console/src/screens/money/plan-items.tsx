import { getEditableServices } from '@crosspoint/client'
import { Autocomplete, Button, Fieldset, Group, NumberInput, Stack, Switch, Text } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { moneySigns, numberIn } from '../../lib/amounts.ts'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { isObject, type Json, type JsonObject, valueAt, withChanges } from '../../lib/json.ts'
import type { OwnField } from '../../parts/fields.tsx'

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

const PriceInput = ({
  label,
  isMoney,
  value,
  onValue,
}: {
  label: string
  isMoney: boolean
  value: number | undefined
  onValue: (value: number | undefined) => void
}) => {
  // What is typed may be on its way: `4.` becomes 4.5.
  const [typed, setTyped] = useState<number | string>(value ?? '')
  return (
    <NumberInput
      label={label}
      {...(isMoney ? { ...moneySigns(), decimalScale: 4 } : { allowDecimal: false })}
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

const PriceFields = ({ item, onChange }: { item: Item; onChange: (prices: JsonObject) => void }) => {
  const { t } = useTranslation()
  const { prices } = item
  const put = (path: string, value: Json) => onChange(withChanges(prices, changeAt(path, value)))
  const numbers = [...moneyFields, ...discountFields, ...countFields]
  return (
    <Stack gap="xs">
      <Group gap="sm" align="end">
        {numbers.map((path) => {
          const value = valueAt(prices, path)
          return (
            <PriceInput
              key={path}
              label={t(`money.price.${path.replaceAll('.', '_')}`)}
              isMoney={!/minimum|maximum|step/.test(path)}
              value={typeof value === 'number' ? value : undefined}
              onValue={(given) => put(path, given ?? null)}
            />
          )
        })}
      </Group>
      <Group gap="lg">
        {switches.map((path) => (
          <Switch
            key={path}
            label={t(`money.price.${path.replaceAll('.', '_')}`)}
            checked={valueAt(prices, path) === true}
            onChange={({ currentTarget }) => put(path, currentTarget.checked)}
          />
        ))}
      </Group>
    </Stack>
  )
}

const useEditable = () => {
  const { accountId } = usePlace()
  const found = useAnswer(['services', 'editable'], (signal) =>
    getEditableServices({ ...api, path: { account_id: accountId }, signal }),
  )
  const categories = found.data?.data ?? {}
  return {
    categories: Object.keys(categories),
    itemsOf: (category: string) => {
      const items: unknown = categories[category]
      const names = Array.isArray(items) ? items.map(String) : isObject(items) ? Object.keys(items) : []
      return [...new Set(['_all', ...names])]
    },
  }
}

const AddItem = ({ onAdd }: { onAdd: (category: string, item: string) => void }) => {
  const { t } = useTranslation()
  const { categories, itemsOf } = useEditable()
  const [category, setCategory] = useState('')
  const [item, setItem] = useState('_all')
  return (
    <Group align="end" gap="sm">
      <Autocomplete label={t('money.category')} data={categories} value={category} onChange={setCategory} />
      <Autocomplete
        label={t('money.item')}
        description={t('money.itemHelp')}
        data={itemsOf(category)}
        value={item}
        onChange={setItem}
      />
      <Button
        variant="default"
        disabled={category === '' || item === ''}
        onClick={() => {
          onAdd(category, item)
          setCategory('')
          setItem('_all')
        }}
      >
        {t('money.addItem')}
      </Button>
    </Group>
  )
}

/** What each item costs. Everything else of a plan can be written as JSON. */
export const PlanItems: OwnField = ({ form, path }) => {
  const { t } = useTranslation()
  const { value, onChange, error } = form.getInputProps(path)
  const items = itemsIn(value)
  const write = (next: readonly Item[]) => onChange(planFrom(next))
  return (
    <Stack style={{ gridColumn: '1 / -1' }}>
      {items.length === 0 && <Text size="sm">{t('money.noItems')}</Text>}
      {items.map((one) => {
        const name = `${one.category} / ${one.item}`
        const isOther = (other: Item) => other.category !== one.category || other.item !== one.item
        return (
          <Fieldset key={name} legend={name}>
            <Stack gap="sm">
              <PriceFields
                item={one}
                onChange={(prices) =>
                  write(items.map((other) => (isOther(other) ? other : { ...other, prices })))
                }
              />
              <Group justify="flex-end">
                <Button
                  size="compact-sm"
                  variant="default"
                  aria-label={t('money.removeItemNamed', { name })}
                  onClick={() => write(items.filter(isOther))}
                >
                  {t('money.removeItem')}
                </Button>
              </Group>
            </Stack>
          </Fieldset>
        )
      })}
      <AddItem
        onAdd={(category, item) => {
          const isThere = items.some((one) => one.category === category && one.item === item)
          if (!isThere) write([...items, { category, item, prices: {} }])
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

import { getEditableServices } from '@crosspoint/client'
import { Autocomplete, Button, Group } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { isObject } from '../../lib/json.ts'

/** Stands for everything of a category. */
export const allItems = '_all'

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
      return isObject(items) ? Object.keys(items) : []
    },
  }
}

/** Chooses something that plans can price, by its category and name. */
export const AddItem = ({
  action,
  help,
  isOffered = () => true,
  first = '',
  onAdd,
}: {
  action: string
  help?: string
  isOffered?: (item: string) => boolean
  /** The preselected item. */
  first?: string
  onAdd: (category: string, item: string) => void
}) => {
  const { t } = useTranslation()
  const { categories, itemsOf } = useEditable()
  const [category, setCategory] = useState('')
  const [item, setItem] = useState(first)
  return (
    <Group align="end" gap="sm">
      <Autocomplete label={t('money.category')} data={categories} value={category} onChange={setCategory} />
      <Autocomplete
        label={t('money.item')}
        description={help}
        data={itemsOf(category).filter(isOffered)}
        value={item}
        onChange={setItem}
      />
      <Button
        variant="default"
        disabled={category === '' || item === ''}
        onClick={() => {
          onAdd(category, item)
          setCategory('')
          setItem(first)
        }}
      >
        {action}
      </Button>
    </Group>
  )
}

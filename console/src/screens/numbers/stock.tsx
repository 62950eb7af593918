import { listPhoneNumberPrefixes, listPhoneNumbers, locatePhoneNumbers } from '@crosspoint/client'
import { Button, Checkbox, Group, NumberInput, Select, Stack, Text, TextInput } from '@mantine/core'
import { SearchX } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useLocation } from 'wouter'
import { usePlace, useTo } from '../../frame/place.tsx'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { isObject } from '../../lib/json.ts'
import type { Page } from '../../lib/pages.ts'
import { schemaAt, useSchema } from '../../lib/schemas.ts'
import { Empty } from '../../parts/empty.tsx'
import { type Column, RowList } from '../../parts/row-list.tsx'
import { Screen } from '../../parts/screen.tsx'
import { SearchBox } from '../../parts/search-box.tsx'
import { useNumbersChange } from './changes.ts'
import { countriesIn } from './countries.ts'
import { type NumberResult, OutcomeDialog } from './outcome.tsx'
import { StateBadge } from './states.tsx'
import { Terms } from './terms.tsx'

interface StockRow {
  number: string
  state: string
  city: string
}

interface Question {
  prefix: string
  country: string
  /** How many numbers are asked for at once. */
  quantity: number
}

const cityIn = (locality: unknown) => {
  const geocode = isObject(locality) ? locality.geocode : undefined
  return isObject(geocode) && typeof geocode.locality === 'string' ? geocode.locality : ''
}

/** The places of numbers, if known; the search works without them. */
const citiesOf = async (accountId: string, numbers: readonly string[], signal: AbortSignal) => {
  if (numbers.length === 0) return {}
  try {
    const body = { data: { numbers: [...numbers] } }
    const { data } = await locatePhoneNumbers({ ...api, path: { account_id: accountId }, body, signal })
    return data
  } catch {
    return {}
  }
}

const useRead = ({ prefix, country, quantity }: Question) => {
  const { accountId } = usePlace()
  return async (startKey: string | undefined, signal: AbortSignal): Promise<Page<StockRow>> => {
    const page = Number(startKey ?? 0)
    const query = { prefix, country, quantity: String(quantity), offset: String(page) }
    const { data } = await listPhoneNumbers({ ...api, path: { account_id: accountId }, query, signal })
    const found = Array.isArray(data) ? data : []
    const places: Record<string, unknown> = await citiesOf(
      accountId,
      found.map(({ number }) => number),
      signal,
    )
    const rows = found.map(({ number, state }) => ({ number, state, city: cityIn(places[number]) }))
    return rows.length < quantity ? { data: rows } : { data: rows, next_start_key: String(page + 1) }
  }
}

/** The prefixes of cities whose names begin like what was typed. */
const Cities = ({ onChoose }: { onChoose: (prefix: string) => void }) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const [city, setCity] = useState('')
  const found = useAnswer(
    ['stock', accountId, 'cities', city],
    (signal) => listPhoneNumberPrefixes({ ...api, path: { account_id: accountId }, query: { city }, signal }),
    { enabled: city !== '' },
  )
  const cities = Object.entries(found.data?.data ?? {}).flatMap(([name, known]) =>
    isObject(known) && Array.isArray(known.prefixes) ? [{ name, prefixes: known.prefixes.map(String) }] : [],
  )
  return (
    <Stack gap="xs" maw="40rem">
      <SearchBox label={t('numbers.city')} onSearch={setCity} />
      {found.error ? <FailureNote error={found.error} again={found.refetch} /> : null}
      {city !== '' && found.data && cities.length === 0 && <Text size="sm">{t('numbers.noCity')}</Text>}
      {cities.map(({ name, prefixes }) => (
        <Group key={name} gap="xs" role="group" aria-label={name}>
          <Text size="sm">{name}</Text>
          {prefixes.map((prefix) => (
            <Button key={prefix} size="compact-sm" variant="default" onClick={() => onChoose(prefix)}>
              {prefix}
            </Button>
          ))}
        </Group>
      ))}
    </Stack>
  )
}

const mostAtOnce = 500

const SearchForm = ({ onSearch }: { onSearch: (question: Question) => void }) => {
  const { t } = useTranslation()
  const { schema } = useSchema('phone_numbers')
  const [prefix, setPrefix] = useState('')
  const [country, setCountry] = useState('US')
  const [quantity, setQuantity] = useState<number | string>(50)
  const wanted = Math.min(mostAtOnce, Math.max(1, Number(quantity) || 1))
  const search = (event: FormEvent) => {
    event.preventDefault()
    onSearch({ prefix, country, quantity: wanted })
  }
  return (
    <Stack gap="sm">
      <Cities
        onChoose={(chosen) => {
          setPrefix(chosen)
          onSearch({ prefix: chosen, country, quantity: wanted })
        }}
      />
      <form onSubmit={search}>
        <Group align="end" gap="sm">
          <TextInput
            label={t('numbers.prefix')}
            description={t('numbers.prefixHelp')}
            inputMode="tel"
            maxLength={10}
            value={prefix}
            onChange={({ currentTarget }) => setPrefix(currentTarget.value.trim())}
          />
          <Select
            label={t('numbers.country')}
            data={countriesIn(schema ? (schemaAt(schema, 'e911.country')?.enum ?? []) : [])}
            value={country}
            onChange={(chosen) => chosen && setCountry(chosen)}
            searchable
            allowDeselect={false}
          />
          <NumberInput
            label={t('numbers.quantity')}
            min={1}
            max={mostAtOnce}
            value={quantity}
            onChange={setQuantity}
            w="7rem"
          />
          <Button type="submit" disabled={prefix.length < 3}>
            {t('search')}
          </Button>
        </Group>
      </form>
    </Stack>
  )
}

const useColumns = (
  chosen: ReadonlySet<string>,
  choose: (number: string, isChosen: boolean) => void,
): readonly Column<StockRow>[] => {
  const { t } = useTranslation()
  return [
    {
      id: 'chosen',
      title: t('numbers.choose'),
      show: ({ number }) => (
        <Checkbox
          aria-label={t('numbers.chooseNumber', { number })}
          checked={chosen.has(number)}
          onChange={({ currentTarget }) => choose(number, currentTarget.checked)}
        />
      ),
    },
    { id: 'number', title: t('numbers.number'), show: ({ number }) => number },
    { id: 'city', title: t('numbers.place'), show: ({ city }) => city },
    {
      id: 'state',
      title: t('numbers.state'),
      isExtra: true,
      show: ({ state }) => <StateBadge state={state} />,
    },
  ]
}

const Found = ({ question }: { question: Question }) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const to = useTo()
  const [, go] = useLocation()
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [results, setResults] = useState<readonly NumberResult[]>()
  const change = useNumbersChange(setResults)
  const choose = (number: string, isChosen: boolean) =>
    setChosen(
      (before) => new Set(isChosen ? [...before, number] : [...before].filter((one) => one !== number)),
    )
  const columns = useColumns(chosen, choose)
  const numbers = [...chosen]
  const close = () => {
    const isDone = results?.every(({ refusal }) => refusal === undefined)
    setResults(undefined)
    setChosen(new Set())
    if (isDone) go(to('numbers'))
  }
  return (
    <>
      <RowList
        label={t('numbers.found')}
        queryKey={['stock', accountId, question.country, question.prefix, question.quantity]}
        read={useRead(question)}
        columns={columns}
        rowKey={({ number }) => number}
        empty={<Empty Icon={SearchX} text={t('numbers.nothingFound')} />}
      />
      <Group>
        <Button
          disabled={numbers.length === 0}
          loading={change.isPending}
          onClick={() => change.mutate({ wish: { to: 'activate' }, numbers })}
        >
          {t('numbers.buy', { count: numbers.length })}
        </Button>
        <Button
          variant="default"
          disabled={numbers.length === 0 || change.isPending}
          onClick={() => change.mutate({ wish: { to: 'reserve' }, numbers })}
        >
          {t('numbers.reserve')}
        </Button>
      </Group>
      <OutcomeDialog results={results} onClose={close} />
    </>
  )
}

/** Numbers that may be had: found by city or prefix, bought or reserved. */
export const NumberStock = () => {
  const { t } = useTranslation()
  const [question, setQuestion] = useState<Question>()
  return (
    <Screen title={t('numbers.stock')}>
      <Terms />
      <SearchForm onSearch={setQuestion} />
      {question ? (
        <Found key={`${question.country} ${question.prefix}`} question={question} />
      ) : (
        <Text c="dimmed">{t('numbers.stockText')}</Text>
      )}
    </Screen>
  )
}

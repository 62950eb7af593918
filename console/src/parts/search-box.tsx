import { TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { Search } from 'lucide-react'
import { useState } from 'react'

const pauseMilliseconds = 250

/** Reports the text when typing pauses, to avoid a request for each letter. */
export const SearchBox = ({
  label,
  initial = '',
  isLabelShown = false,
  onSearch,
}: {
  label: string
  initial?: string
  /** The label is above the box, as for other fields. */
  isLabelShown?: boolean
  onSearch: (text: string) => void
}) => {
  const [text, setText] = useState(initial)
  const tell = useDebouncedCallback((typed: string) => onSearch(typed.trim()), pauseMilliseconds)
  return (
    <TextInput
      type="search"
      maw="24rem"
      {...(isLabelShown ? { label } : { 'aria-label': label, placeholder: label })}
      leftSection={<Search size={16} aria-hidden />}
      value={text}
      onChange={({ currentTarget: { value } }) => {
        setText(value)
        tell(value)
      }}
    />
  )
}

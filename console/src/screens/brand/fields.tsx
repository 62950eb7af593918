import { Box, Button, ColorInput, Group, SimpleGrid, Stack, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { generateColors } from '../../frame/brand-colors.ts'
import { schemaAt } from '../../lib/schemas.ts'
import { type FieldGroup, helpOf, labelOf, type OwnField } from '../../parts/fields.tsx'

export const groups: readonly FieldGroup[] = [
  { title: 'brand.names', fields: ['company_name', 'application_title', 'brand_color'] },
  {
    title: 'brand.places',
    fields: ['domain', 'conference_public_domain', 'fake_api_url', 'nav.help', 'nav.learn_more'],
  },
  { title: 'brand.shown', fields: ['hide_powered', 'hide_credits', 'hide_registration'] },
  {
    title: 'brand.porting',
    fields: ['port.support_email', 'port.features', 'port.terms', 'port.loa', 'port.resporg'],
  },
]

const hexColor = /^#[0-9a-f]{6}$/i

const Sample = ({ color, scheme }: { color: string; scheme: 'light' | 'dark' }) => {
  const { t } = useTranslation()
  const shades = generateColors(color)
  const isDark = scheme === 'dark'
  return (
    <Box
      p="sm"
      bg={isDark ? 'dark.7' : 'white'}
      bd="1px solid var(--mantine-color-default-border)"
      aria-hidden
    >
      <Group>
        <Button component="span" color={shades[8]} autoContrast size="compact-sm">
          {t('save')}
        </Button>
        <Text component="span" size="sm" c={isDark ? shades[4] : shades[8]} td="underline">
          {t('brand.aLink')}
        </Text>
      </Group>
    </Box>
  )
}

/** The colour, and what it looks like on light and on dark. */
const BrandColor: OwnField = ({ form, path, schema }) => {
  const { t } = useTranslation()
  const part = schemaAt(schema, path)
  const input = form.getInputProps(path)
  const value = typeof input.value === 'string' ? input.value : ''
  return (
    <Stack gap="xs">
      <ColorInput
        {...input}
        value={value}
        label={labelOf(path, part)}
        description={helpOf(path, part)}
        placeholder="#1c7ed6"
        format="hex"
        fixOnBlur={false}
        eyeDropperButtonProps={{ 'aria-label': t('brand.pickColor') }}
        popoverProps={{ withinPortal: false }}
      />
      {hexColor.test(value) && (
        <SimpleGrid
          cols={{ base: 1, xs: 2 }}
          spacing={0}
          verticalSpacing={0}
          role="img"
          aria-label={t('brand.colorPreview', { color: value })}
        >
          <Sample color={value} scheme="light" />
          <Sample color={value} scheme="dark" />
        </SimpleGrid>
      )}
    </Stack>
  )
}

export const own: Readonly<Record<string, OwnField>> = { brand_color: BrandColor }

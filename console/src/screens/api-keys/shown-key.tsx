import { Button, Code, CopyButton, Group, Modal, Stack, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'

/** A new key. It stays open until it is closed on purpose: some keys are shown only once. */
export const ShownKey = ({
  title,
  text,
  apiKey,
  onClose,
}: {
  title: string
  text: string
  apiKey: string
  onClose: () => void
}) => {
  const { t } = useTranslation()
  return (
    <Modal
      opened
      onClose={onClose}
      closeOnClickOutside={false}
      title={title}
      closeButtonProps={{ 'aria-label': t('close') }}
    >
      <Stack>
        <Text>{text}</Text>
        <Code block style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
          {apiKey}
        </Code>
        <Group justify="flex-end">
          <CopyButton value={apiKey}>
            {({ copied, copy }) => (
              <Button onClick={copy} data-autofocus>
                {copied ? t('copied') : t('copy')}
              </Button>
            )}
          </CopyButton>
          <Button variant="default" onClick={onClose}>
            {t('close')}
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}

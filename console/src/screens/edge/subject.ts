/** Whose lists and limits: an account's, or those of one of its devices. */
export interface Subject {
  accountId: string
  device?: { id: string; username: string | undefined; realm: string }
}

export const pathOf = ({ accountId, device }: Subject) =>
  device ? `/v2/accounts/${accountId}/devices/${device.id}` : `/v2/accounts/${accountId}`

/** The kind of the record that they are a part of: its events tell of them. */
export const kindOf = ({ device }: Subject) => (device ? 'device' : 'account')

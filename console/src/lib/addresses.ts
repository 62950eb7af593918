/** The pattern of the addresses of a screen, by what follows the account in them: `devices/:deviceId`. */
export const at = (path: string) => (path === '' ? '/a/:accountId' : `/a/:accountId/${path}`)

/** What may go wrong with anything that is asked of a switch. */
export const switchFails = ['no_media_switch', 'media_switch_unreachable'] as const

/** What metadata tells of edges that did not answer: nothing where all did. */
export const unreachableIn = (hosts: readonly string[]) => (hosts.length > 0 ? { unreachable: hosts } : {})

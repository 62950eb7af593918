import { Resolver } from 'node:dns/promises'
import { dkimVerify } from 'mailauth'

/** The verdict of an independent verifier on the signatures of a mail, with the name server at this port. */
export const verifyDkim = async (message: string, dnsPort: number) => {
  const resolver = new Resolver()
  resolver.setServers([`127.0.0.1:${dnsPort}`])
  const { results } = await dkimVerify(Buffer.from(message, 'latin1'), {
    resolver: (name) => resolver.resolveTxt(name),
  })
  return results.map(({ status, signingDomain, selector, algo }) => ({
    result: status.result,
    signingDomain,
    selector,
    algo,
  }))
}

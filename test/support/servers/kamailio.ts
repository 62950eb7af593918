// A real Kamailio, if installed (Debian: kamailio), on loopback: a registrar without passwords, and a proxy that reads call data
// from private headers of the INVITE.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from '../run/eventually.ts'
import { freePort } from './free-port.ts'
import { findProgram } from './installed.ts'

/** Dialog variables, and the INVITE headers with which tests set them. */
export const callHeaders = {
  account_id: 'X-Account-Id',
  authorizing_id: 'X-Authorizing-Id',
  authorizing_type: 'X-Authorizing-Type',
  owner_id: 'X-Owner-Id',
  direction: 'X-Direction',
  interaction_id: 'X-Interaction-Id',
  to_number: 'X-To-Number',
} as const

/** The secret that all of them require. */
const secret = 'between-us'

interface Settings {
  port: number
  /** Calls are in a profile of their account, which an edge may have or not. */
  hasProfiles: boolean
}

const configuration = ({ port, hasProfiles }: Settings) => `#!KAMAILIO
debug=1
log_stderror=yes
fork=yes
children=2
tcp_children=2
auto_aliases=no
tcp_accept_no_cl=yes
tcp_connection_lifetime=300
listen=udp:127.0.0.1:${port}
listen=tcp:127.0.0.1:${port}
http_reply_parse=yes

loadmodule "kex.so"
loadmodule "corex.so"
loadmodule "tm.so"
loadmodule "tmx.so"
loadmodule "sl.so"
loadmodule "rr.so"
loadmodule "pv.so"
loadmodule "maxfwd.so"
loadmodule "textops.so"
loadmodule "siputils.so"
loadmodule "xlog.so"
loadmodule "usrloc.so"
loadmodule "registrar.so"
loadmodule "nathelper.so"
loadmodule "dialog.so"
loadmodule "htable.so"
loadmodule "xhttp.so"
loadmodule "websocket.so"
loadmodule "jsonrpcs.so"

modparam("usrloc", "use_domain", 1)
modparam("usrloc", "db_mode", 0)
modparam("registrar", "received_avp", "$avp(RECEIVED)")
modparam("nathelper", "received_avp", "$avp(RECEIVED)")
modparam("tm", "local_ack_mode", 1)
modparam("tm", "fr_inv_timer", 60000)
modparam("tm", "fr_timer", 3000)
modparam("dialog", "enable_stats", 0)
${hasProfiles ? 'modparam("dialog", "profiles_with_value", "account")' : ''}
modparam("htable", "htable", "generations=>size=8")
modparam("jsonrpcs", "transport", 1)

request_route {
  if (!mf_process_maxfwd_header("10")) exit;
  force_rport();
  if (is_method("CANCEL")) {
    if (t_check_trans()) t_relay();
    exit;
  }
  if (has_totag()) {
    if (loose_route()) { t_relay(); exit; }
    if (is_method("ACK")) {
      if (t_check_trans()) t_relay();
      exit;
    }
    sl_send_reply("404", "Not here");
    exit;
  }
  t_check_trans();
  if (is_method("REGISTER")) {
    fix_nated_register();
    save("location");
    exit;
  }
  if (is_method("INVITE")) {
    record_route();
    dlg_manage();
${Object.entries(callHeaders)
  .map(([name, header]) => `    if ($hdr(${header}) != $null) $dlg_var(${name}) = $hdr(${header});`)
  .join('\n')}
${hasProfiles ? '    if ($hdr(X-Account-Id) != $null) set_dlg_profile("account", "$hdr(X-Account-Id)");' : ''}
  }
  if (!lookup("location")) {
    t_reply("404", "Not found");
    exit;
  }
  t_relay();
}

event_route[xhttp:request] {
  if ($hdr(Upgrade) =~ "websocket") {
    ws_handle_handshake();
    exit;
  }
  if ($hdr(Authorization) != "Bearer ${secret}") {
    xhttp_reply("403", "Forbidden", "text/plain", "no");
    exit;
  }
  jsonrpc_dispatch();
}
`

const startMs = 60_000

const program = findProgram('kamailio') ?? 'kamailio'

export type Kamailio = Awaited<ReturnType<typeof startKamailio>>

export const startKamailio = async ({ hasProfiles = true }: { hasProfiles?: boolean } = {}) => {
  const folder = mkdtempSync(join(tmpdir(), 'crosspoint-kamailio-'))
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/RPC`
  const file = join(folder, 'kamailio.cfg')
  writeFileSync(file, configuration({ port, hasProfiles }))
  let child: ChildProcess | undefined
  let said = ''

  const rpc = async (method: string, ...params: unknown[]) => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, connection: 'close' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    const answer = (await response.json()) as { result?: unknown; error?: { code: number; message: string } }
    if (answer.error) throw new Error(answer.error.message)
    return answer.result
  }

  const start = async () => {
    const args = ['-f', file, '-DD', '-E', '-m', '32', '-M', '8', '-Y', folder, '-P', join(folder, 'pid')]
    child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk) => {
        said = `${said}${chunk}`.slice(-10_000)
      })
    const isThere = () =>
      rpc('core.version').then(
        () => true,
        () => false,
      )
    try {
      await eventually(isThere, (there) => there, startMs)
    } catch {
      throw new Error(`Kamailio does not answer:\n${said}`)
    }
  }

  const kill = async () => {
    const ended = child
    child = undefined
    if (ended?.pid === undefined) return
    const gone = once(ended, 'exit')
    process.kill(-ended.pid, 'SIGKILL')
    await gone
  }

  await start()

  return {
    host: '127.0.0.1',
    port,
    /** The address of its JSON-RPC. */
    url,
    secret,
    rpc,
    start,

    /** As a machine that loses its power would. */
    kill,

    /** Pauses all its processes, as on an overloaded machine. Returns a function that continues them. */
    freeze() {
      const pid = child?.pid
      if (pid === undefined) throw new Error('Kamailio does not run')
      process.kill(-pid, 'SIGSTOP')
      return () => process.kill(-pid, 'SIGCONT')
    },

    /** The last generation of a realm that it received. */
    async generation(realm: string): Promise<number | undefined> {
      const found = await rpc('htable.get', 'generations', realm).catch(() => undefined)
      return (found as { item?: { value?: number } } | undefined)?.item?.value
    },

    async close() {
      await kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

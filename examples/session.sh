# For the pages under docs/: signs in as the operator of a server on this machine. Source it from the repository's root:
#
#   PASSWORD='the password that was shown'
#   . examples/session.sh
#
# Leaves $API, $TOKEN, $MASTER (the id of the master account), and the functions below. It needs curl and Node alone.

API=${CROSSPOINT_URL:-http://127.0.0.1:8000}/v2

# A member of a JSON answer: field data.id, field auth_token, field data.0.id
field() {
  node -e '
    const answer = require("fs").readFileSync(0, "utf8")
    const found = process.argv[1].split(".").reduce((at, key) => at?.[key], JSON.parse(answer))
    if (found === undefined) throw new Error(`no ${process.argv[1]} in ${answer}`)
    console.log(found)' "$1"
}

# The body of a sign-in: credentials ACCOUNT_NAME USERNAME PASSWORD. The password goes over as a digest.
credentials() {
  node -p '
    const [account_name, username, password] = process.argv.slice(1)
    const digest = require("crypto").createHash("md5").update(`${username.toLowerCase()}:${password}`).digest("hex")
    JSON.stringify({ data: { credentials: digest, account_name } })' "$1" "$2" "$3"
}

# The token of a user: sign_in ACCOUNT_NAME USERNAME PASSWORD. Sign-ins are dear: the third within seconds waits (429).
sign_in() {
  curl -sSf --retry 5 -X PUT "$API/user_auth" -d "$(credentials "$1" "$2" "$3")" | field auth_token
}

# curl with $TOKEN
call() {
  curl -sS -H "X-Auth-Token: $TOKEN" -H 'Content-Type: application/json' "$@"
}

TOKEN=$(sign_in master admin "$PASSWORD")
MASTER=$(call "$API/auth/tokeninfo?token=$TOKEN" | field data.account_id)

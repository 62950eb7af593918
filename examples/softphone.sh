#!/bin/sh
# A telephone without sound, by baresip (Debian: baresip-core), for trying a SIP edge:
#
#   examples/softphone.sh bob@acme.example.com bobs-secret 192.0.2.1        registers, and answers calls, in the background
#   examples/softphone.sh ada@acme.example.com adas-secret 192.0.2.1 101    registers, calls 101, and hangs up after some seconds
#
# The third word is the edge, with `:port` where that is not 5060. It sends a tone instead of a voice.
set -eu

IDENTITY=$1 PASSWORD=$2 EDGE=$3 NUMBER=${4:-}
FOLDER=$(mktemp -d)

cat > "$FOLDER/config" << END
module_path $(dirname "$(find /usr/lib -path '*/baresip/modules/menu.so' | head -1)")
module g711.so
module ausine.so
module aufile.so
module_tmp account.so
module_app menu.so
audio_source ausine,440
ausrc_srate 48000
ausrc_channels 2
audio_player aufile,$FOLDER/heard.wav
audio_alert aufile,$FOLDER/rung.wav
END
echo "<sip:$IDENTITY>;auth_pass=$PASSWORD;outbound=\"sip:$EDGE\";answermode=auto;regint=300" > "$FOLDER/accounts"

# Waits until the phone says something; ends with what it has said where it does not.
says() {
  for _ in $(seq 100); do
    if grep -q "$1" "$FOLDER/log"; then return; fi
    sleep 0.1
  done
  cat "$FOLDER/log" >&2
  exit 1
}

if [ -n "$NUMBER" ]; then
  baresip -f "$FOLDER" -t 6 -e "/dial sip:$NUMBER@${IDENTITY#*@}" < /dev/null > "$FOLDER/log" 2>&1 &
  says 'Call established'
  echo "$IDENTITY talks with $NUMBER"
  wait
else
  baresip -f "$FOLDER" < /dev/null > "$FOLDER/log" 2>&1 &
  says '200 OK'
  echo "$IDENTITY is registered, and waits for calls"
fi

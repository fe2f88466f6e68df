# examples.sh — for the run.sh of clients: examples/assistants on a server of its own.
# shellcheck shell=sh

# examples WEFT WHAT COMMAND FILE...: COMMAND runs each FILE of the folder; it must say what the script of the model says.
examples() {
    weft=$1 what=$2 command=$3
    shift 3
    folder=$tap/examples
    rm -rf "$folder"
    cp -r "$here/../../../examples/assistants" "$folder"
    sed -i '1i server: {listen: "127.0.0.1:0"}' "$folder/weft.yaml"
    (cd "$folder" && exec "$weft" serve >listening 2>log) &
    server=$!
    tries=0
    until grep -q listening "$folder/listening" || [ $tries = 300 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    OPENAI_BASE_URL=$(sed -n 's/^listening on //p' "$folder/listening")/v1
    export OPENAI_BASE_URL OPENAI_API_KEY=none
    for file; do
        (cd "$folder" && $command "$file") >"$tap/said" 2>"$tap/log"
        status=$?
        case $file in tutor*) says='completed Subtract 11' ;; *) says='It is 21 degrees in Lisbon.' ;; esac
        grep -q "^$says" "$tap/said" && [ $status = 0 ]
        verdict $? "$what: examples/assistants/$file"
    done
    kill "$server"
    wait "$server"
}

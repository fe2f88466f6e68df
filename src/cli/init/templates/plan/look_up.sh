#!/bin/sh
# A tool: reads {"city": "..."} from standard input and prints JSON. It takes a second, so that one sees two at once.
city=$(sed -n 's/.*"city" *: *"\([^"\\]*\)".*/\1/p')
sleep 1
case $city in
Oslo) echo '{"city":"Oslo","celsius":12,"hotel_euros":140}' ;;
Lisbon) echo '{"city":"Lisbon","celsius":21,"hotel_euros":110}' ;;
*)
    echo "there are no facts about '$city'" >&2
    exit 1
    ;;
esac
